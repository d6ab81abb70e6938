"""Checks: numbers that are computed here and what they must be, each with its source."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from censquant._typing import Floats

Compute = Callable[[], "float | Iterable[float] | Floats"]


class NotApplicableError(Exception):
    """A check that this environment has no use for; the text says why."""


@dataclass(frozen=True)
class Limits:
    """What one number must be: a printed value up to its rounding, or an interval."""

    text: str
    low: float
    high: float
    decimals: int | None = None  # of a printed value

    def holds(self, value: float) -> bool:
        """Whether a number is inside."""
        return self.low <= value <= self.high

    def shown(self, value: float) -> str:
        """Return a number with the decimals of the printed value."""
        if self.decimals is None or not math.isfinite(value):
            return f"{value:.3g}"
        if "e" in self.text:
            return f"{value:.{len(self.text.partition('e')[0].partition('.')[2])}e}"
        return f"{value:.{max(self.decimals, 0)}f}"

    def digits(self, value: float) -> float:
        """Return how many digits agree with a printed value, at most those that it has."""
        if self.decimals is None or not math.isfinite(self.low):
            return math.nan
        printed = Decimal(self.text)
        most = float(len(printed.as_tuple().digits))
        if self.holds(value):
            return most
        gap = abs(value - float(printed)) / max(abs(float(printed)), 10.0**-self.decimals)
        return min(most, max(0.0, -math.log10(gap))) if math.isfinite(gap) else 0.0


def printed(text: str) -> tuple[Limits, ...]:
    """Return limits of numbers as their source prints them: half a unit of the last digit."""
    made = []
    for word in text.split():
        value = float(word)
        if math.isinf(value):
            made.append(Limits(word, value, value))
            continue
        decimals = -int(Decimal(word).as_tuple().exponent)
        half = 0.5 * 10.0**-decimals * (1 + 1e-6)
        made.append(Limits(word, value - half, value + half, decimals))
    return tuple(made)


def between(low: float, high: float) -> tuple[Limits, ...]:
    """Return the limits of one number."""
    return (Limits(f"{low:g} to {high:g}", low, high),)


def at_most(high: float) -> tuple[Limits, ...]:
    """Return the limits of one number that is not negative."""
    return (Limits("0" if high == 0 else f"at most {high:g}", 0.0, high),)


@dataclass(frozen=True)
class Check:
    """Something to compute, and what must come out."""

    key: str
    requirement: str
    title: str
    source: str
    expected: tuple[Limits, ...]
    compute: Compute


@dataclass(frozen=True)
class Result:
    """What came out."""

    check: Check
    obtained: tuple[float, ...] = ()
    seconds: float = 0.0
    reason: str = ""  # why there are no numbers
    is_applicable: bool = True

    @property
    def passed(self) -> bool:
        """Whether all numbers are what they must be."""
        if self.reason:
            return False
        pairs = zip(self.check.expected, self.obtained, strict=True)
        return all(limits.holds(value) for limits, value in pairs)

    @property
    def verdict(self) -> str:
        """One word for tables."""
        return "passed" if self.passed else "failed" if self.is_applicable else "not run"

    @property
    def digits(self) -> float:
        """The fewest digits that agree with printed values; NaN where none were printed."""
        if self.reason:
            return math.nan
        pairs = zip(self.check.expected, self.obtained, strict=True)
        known = [d for d in (limits.digits(v) for limits, v in pairs) if not math.isnan(d)]
        return min(known, default=math.nan)


@dataclass
class Section:
    """Checks of one kind, in the order in which they are written down."""

    key: str
    title: str
    checks: list[Check] = field(default_factory=list)

    def check(
        self,
        key: str,
        requirement: str,
        title: str,
        source: str,
        *expected: Sequence[Limits],
    ) -> Callable[[Compute], Compute]:
        """Return a decorator that adds a check; its function returns a number per limit."""

        def add(compute: Compute) -> Compute:
            limits = tuple(limit for part in expected for limit in part)
            self.checks.append(Check(key, requirement, title, source, limits, compute))
            return compute

        return add


def run_check(check: Check) -> Result:
    """Compute the numbers of a check; whatever goes wrong is its result."""
    begin = time.perf_counter()
    try:
        found = check.compute()
        values = [found] if isinstance(found, float | int) else list(found)
        obtained = tuple(float(value) for value in values)
        reason, applies = "", True
        if len(obtained) != len(check.expected):
            reason = f"{len(obtained)} numbers were computed for {len(check.expected)} expected"
            obtained = ()
    except NotApplicableError as error:
        obtained, reason, applies = (), str(error), False
    except Exception as error:  # a check must not end the others
        obtained, reason, applies = (), f"{type(error).__name__}: {error}", True
    return Result(check, obtained, time.perf_counter() - begin, reason, applies)
