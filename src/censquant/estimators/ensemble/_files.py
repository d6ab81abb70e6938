"""What a model file holds of a pool: its fitted candidates as parts, their weights as arrays."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant._rows._cross_fit import depend_on_ensemble
from censquant._storage._parts import Arrays, Decoder, Encoder, Part, check_arrays, expect
from censquant._storage._persistence import fitted_part, from_part, own_arrays, restored, to_part
from censquant._trees._follow_up import stored_follow_up
from censquant._validation import check_flag, check_integer, check_number, check_sizes
from censquant.estimators.ensemble._mixture import Bounds, Mixture
from censquant.estimators.ensemble._table import POOL, CandidateRow, CandidateTable
from censquant.exceptions import ModelFileError
from censquant.quantiles._distribution_curve import TailLimit

if TYPE_CHECKING:
    from censquant.estimators.ensemble._pool import Pool

Pooled = TypeVar("Pooled", bound="Pool")

_FOLLOW_UP = "follow_up."


def pool_part(pool: "Pool") -> Part:
    """Return the fitted pool as data; answers about held-out rows are left out."""
    encode = Encoder(to_part)
    mixture, bounds = pool._mixture, pool._mixture.bounds
    description = {
        # A list, since JSON's objects have no order and the arrays of weights have this one.
        "candidates": [[name, len(models)] for name, models in pool.estimators_.items()],
        "table": [encode(asdict(row), "table") for row in pool.candidates_],
        "calibration_p_value": pool.calibration_p_value_,
        "calibration_gap": None if pool.calibration_gap_ is None else list(pool.calibration_gap_),
        "bounds": encode({"lower": bounds.lower, "low": bounds.low}, "bounds"),
        "any_censored": pool._follow_up is not None,
        "input_shape": list(pool._input_shape),
    }
    arrays: Arrays = {"weights": mixture.weights, "reference": mixture.reference}
    contents = ["scores of the candidates on held-out rows"]
    if pool._feature_range is not None:
        arrays["range"] = pool._feature_range
        contents.append("smallest and largest value of each feature")
    if pool._follow_up is not None:
        arrays |= {_FOLLOW_UP + name: value for name, value in pool._follow_up.state().items()}
        contents.append("shares of the training rows still under observation, in groups")
    part = fitted_part(pool, description, arrays, contents=tuple(contents))
    for name, models in pool.estimators_.items():
        for place, model in enumerate(models):
            part.parts[f"fitted.{name}.{place}"] = to_part(model)
    return part


def restored_pool(cls: type[Pooled], part: Part, network: Callable[..., Any] | None) -> Pooled:
    """Return the pool with its candidates."""
    pool, entries = restored(cls, part, network), part.description
    pool._check_parameters()
    decode = Decoder(part, from_part)
    shape = check_sizes("input_shape", expect("input_shape", entries["input_shape"], list))
    pool._input_shape = shape
    counts = [
        (expect("candidates", name, str), check_integer("candidates", n, minimum=1))
        for name, n in expect("candidates", entries["candidates"], list)
    ]
    own = own_arrays(part)
    follow_up = {
        name.removeprefix(_FOLLOW_UP): own.pop(name)
        for name in list(own)
        if name.startswith(_FOLLOW_UP)
    }
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "weights": ("f8", (len(counts),)),
        "reference": ("f8", (len(counts),)),
    }
    if len(shape) == 1:
        expected["range"] = ("f8", (2, *shape))
    check_arrays(own, expected)
    for name in ("weights", "reference"):
        total = float(own[name].sum())
        if (own[name] < 0).any() or not (
            abs(total - 1.0) < 1e-9 or (name != "weights" and not total)
        ):
            raise ModelFileError(f"holds {name} of candidates that are not shares of a whole.")
    if bool(follow_up) != check_flag("any_censored", entries["any_censored"]):
        raise ModelFileError("does not hold the model of the follow-up that it describes.")
    pool._feature_range = own.get("range")
    pool._follow_up = stored_follow_up(follow_up, math.prod(shape)) if follow_up else None
    pool._mixture = Mixture(
        own["weights"],
        own["reference"],
        _read_bounds(decode(expect("bounds", entries["bounds"], dict)), pool),
    )
    pool.estimators_ = {
        name: [from_part(part.parts[f"fitted.{name}.{place}"], network) for place in range(n)]
        for name, n in counts
    }
    for models in pool.estimators_.values():
        for model in models:
            depend_on_ensemble(model)
    pool.candidates_ = CandidateTable(
        tuple(CandidateRow(**decode(row)) for row in expect("table", entries["table"], list))
    )
    pool.weights_ = {
        row.name: check_number("weight", row.weight) for row in pool.candidates_ if row.name != POOL
    }
    p_value = entries["calibration_p_value"]
    pool.calibration_p_value_ = (
        None if p_value is None else check_number("calibration_p_value", p_value)
    )
    gap = entries.get("calibration_gap")  # files of version 0.1 have none
    if gap is not None:
        level, observed = (check_number("calibration_gap", each) for each in _pair(gap))
        gap = level, observed
    pool.calibration_gap_ = gap
    pool.oof_curve_ = pool.oof_rows_ = None
    return pool


def _pair(given: object) -> tuple[object, object]:
    """Return the two numbers of a pair."""
    if not isinstance(given, list) or len(given) != 2:
        raise ModelFileError("holds a gap of the calibration that is no pair of shares.")
    return given[0], given[1]


def _read_bounds(stored: dict[str, Any], pool: "Pool") -> Bounds:
    lower, low = (float(stored[name]) for name in ("lower", "low"))
    tail = TailLimit.of(*sorted(pool.time_transform_.forward(np.array(pool.follow_up_)).tolist()))
    if not max(lower, low) <= tail.end < math.inf:
        raise ModelFileError("holds bounds of times that are not in order.")
    return Bounds(lower, low, tail)
