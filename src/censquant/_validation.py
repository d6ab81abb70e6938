"""Checks of arguments, and generators made of seeds."""

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

Entry = TypeVar("Entry")


def check_integer(name: str, value: Any, *, minimum: int) -> int:
    """Return ``value`` as an int, at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}.")
    return int(value)


def check_number(
    name: str,
    value: Any,
    *,
    minimum: float = -math.inf,
    below: float = math.inf,
    exclude_minimum: bool = False,
) -> float:
    """Return ``value`` as a finite float inside ``[minimum, below)``, or ``(minimum, below)``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    too_low = number <= minimum if exclude_minimum else number < minimum
    if not math.isfinite(number) or too_low or number >= below:
        bracket = "(" if exclude_minimum or minimum == -math.inf else "["
        low, high = (f"{bound:g}" for bound in (minimum, below))
        raise ValueError(
            f"{name} must be finite and inside {bracket}{low}, {high}), got {value!r}."
        )
    return number


def check_share(name: str, value: Any) -> float:
    """Return ``value`` as a float inside ``(0, 1]``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    share = float(value)
    if not 0.0 < share <= 1.0:
        raise ValueError(f"{name} must be inside (0, 1], got {value!r}.")
    return share


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of the ``choices``."""
    allowed = list(choices)
    # Compared by type too: True must not pass for 1, nor an array for anything.
    if not any(type(value) is type(choice) and value == choice for choice in allowed):
        listed = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def look_up(what: str, name: Any, table: Mapping[str, Entry]) -> Entry:
    """Return the entry called ``name``; an unknown name is told the ones that are near."""
    if not isinstance(name, str):
        raise TypeError(f"The name of a {what} must be a string, got {name!r}.")
    if name not in table:
        near = difflib.get_close_matches(name.lower(), table, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(table)}."
        raise ValueError(f"There is no {what} {name!r}; {hint}")
    return table[name]


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return ``value``, an integer or a sequence of positive integers, as a tuple."""
    sizes = (value,) if isinstance(value, Integral) else value
    # An iterator would be used up by the check.
    if isinstance(sizes, str | Iterator) or not isinstance(sizes, Iterable):
        raise TypeError(f"{name} must be a sequence of positive integers, got {value!r}.")
    return tuple(check_integer(f"Every entry of {name}", size, minimum=1) for size in sizes)


def check_n_jobs(value: Any) -> None:
    """Refuse a number of threads that scikit-learn would not take either."""
    if value is not None and check_integer("n_jobs", value, minimum=-(2**31)) == 0:
        raise ValueError("n_jobs must be None or an integer other than 0, got 0.")


RandomState = int | np.random.Generator | np.random.RandomState | None
"""What a user may pass as ``random_state``."""


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the source of all randomness of a fit; a generator is drawn from once."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    return np.random.SeedSequence(check_integer("random_state", random_state, minimum=0))


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return the generator that is meant; one that is passed is used itself and moves on."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
