"""What a model file holds of a conformal estimator: models as parts, calibration rows as arrays.

A model that was saved without calibration rows has their sums in place of them.
"""

from copy import copy
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._censoring import CommonCensoring, ModelledCensoring
from censquant._calibration._family import INDICES, Recalibration
from censquant._calibration._methods import METHODS
from censquant._calibration._rules import (
    FOLLOWED_SHARE,
    BoundMethod,
    CalibrationRows,
    MiscoverageCurve,
    Side,
)
from censquant._storage._parts import Arrays, Decoder, Encoder, Part, check_arrays, expect
from censquant._storage._persistence import fitted_part, from_part, own_arrays, restored, to_part
from censquant._validation import check_integer, check_number, look_up
from censquant.estimators.meta._bounds._calibration import Calibration, Group, Groups, Scores
from censquant.estimators.meta._bounds._censoring_model import CensoringModel
from censquant.estimators.meta._bounds._coverage_table import CoverageRow, CoverageTable
from censquant.estimators.meta._bounds._cross_fit import LEVELS
from censquant.estimators.meta._bounds._shift import ShiftTest
from censquant.exceptions import ModelFileError
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target

if TYPE_CHECKING:
    from censquant.estimators.meta._conformal import ConformalSurvivalRegressor

Conformal = TypeVar("Conformal", bound="ConformalSurvivalRegressor")

_Expected = dict[str, tuple[str, tuple[int, ...]]]

_STEPS = ("time", "survival", "n_at_risk", "n_events", "n_censored")
_SIDES: tuple[Side, ...] = ("lower", "upper")
_SUMS = ("estimate", "feared", "standard_error", "n_rows")  # of a MiscoverageCurve


def without_rows(model: Conformal) -> Conformal:
    """Return a copy that makes the same bounds and holds no calibration row.

    Of a common censoring curve there is what bounds end at.
    """
    copied = copy(model)
    copied._calibration = model._calibration.without_rows()
    curve = model._censoring.curve
    if curve is not None:
        shares = {FOLLOWED_SHARE}
        for group in copied._calibration.groups.values():
            shares |= {score.share for score in _curves(group).values()}
        ends = [np.flatnonzero(curve.survival < share)[:1] for share in shares]
        kept = np.unique(np.concatenate(ends))
        few = KaplanMeier(*(getattr(curve, name)[kept] for name in _STEPS))
        copied._censoring = replace(model._censoring, curve=few)
    return copied


def conformal_part(model: "ConformalSurvivalRegressor") -> Part:
    """Return the fitted estimator as data."""
    encode = Encoder(to_part)
    calibration, censoring = model._calibration, model._censoring
    rows, labels = calibration.rows, list(calibration.groups)
    lower = censoring_lower = 0.0
    scores: list[Any] | None = None
    arrays: Arrays = {}
    contents: tuple[str, ...]
    if rows is None or calibration.labels is None:
        scores = [_sums(f"group{k}", calibration.groups[name], arrays) for k, name in _each(labels)]
        contents = (
            "at which of their predicted levels calibration rows had events",
            "estimated coverage of bounds, and when follow-up ended",
        )
    else:
        contents = ("times, events and predictions of the calibration rows",)
        lower, censoring_lower = float(rows.curve.lower), _censoring_lower(rows)
        arrays |= _rows_as_arrays(rows, calibration.labels)
    if censoring.curve is not None:
        arrays |= {f"censoring.{name}": getattr(censoring.curve, name) for name in _STEPS}
    description = {
        "method": model._method_name,
        "reason": model.method_,
        "labels": encode(labels, "labels"),
        "scores": scores,
        "lower": encode(lower, "lower"),
        "censoring_lower": encode(censoring_lower, "censoring_lower"),
        "censoring_reason": censoring.reason,
        "censoring_p_value": censoring.p_value,
        "clipped_share": model.clipped_share_,
        "calibration_p_value": model.calibration_p_value_,
        "shift": None if model.shift_ is None else encode(asdict(model.shift_), "shift"),
        "coverage": [encode(asdict(row), "coverage") for row in model.coverage_],
    }
    part = fitted_part(model, description, arrays, contents=contents)
    if model.cv != "prefit":
        part.parts["fitted.estimator"] = to_part(model.estimator_)
    if censoring.model is not None:
        part.parts["fitted.censoring"] = to_part(censoring.model)
    return part


def _each(labels: list[Any]) -> list[tuple[int, Any]]:
    return list(enumerate(labels))


def _rows_as_arrays(rows: CalibrationRows, labels: NDArray[Any]) -> Arrays:
    arrays: Arrays = {
        "calibration.time": rows.target.time,
        "calibration.event": rows.target.event.astype(np.uint8),
        "calibration.weight": rows.weight,
        "calibration.quantiles": rows.curve.values,
        "calibration.group": np.unique(labels, return_inverse=True)[1].astype(np.int64),
    }
    if rows.censoring_time is not None:
        arrays["calibration.censoring_time"] = rows.censoring_time
    if isinstance(rows.censoring, ModelledCensoring):
        arrays["calibration.censoring_quantiles"] = rows.censoring.curve.values
    return arrays


def _curves(group: Group) -> dict[str, MiscoverageCurve]:
    """Return the sums of a group without rows, by the names of their arrays."""
    found: dict[str, MiscoverageCurve] = {}
    for side in _SIDES:
        curve = group.scores[side, None]
        assert isinstance(curve, MiscoverageCurve)
        found[side] = curve
        if curve.unlimited is not None:
            found[f"{side}.unlimited"] = curve.unlimited
    return found


def _sums(prefix: str, group: Group, arrays: Arrays) -> dict[str, dict[str, float]]:
    """Add the arrays of a group without rows; return the numbers beside them."""
    arrays[f"{prefix}.index"] = group.recalibration.index
    arrays[f"{prefix}.level"] = group.recalibration.level
    numbers = {}
    for name, curve in _curves(group).items():
        arrays |= {f"{prefix}.{name}.{each}": getattr(curve, each) for each in _SUMS}
        numbers[name] = {
            "n_events": curve.n_events,
            "share": curve.share,
            "caution": curve.caution,
        }
    return numbers


def _restored_groups(
    labels: list[Any], scores: list[Any], arrays: Arrays, method: BoundMethod
) -> Groups:
    """Return groups without rows from the numbers and arrays that `_sums` made of them."""
    if len(labels) != len(scores):
        raise ModelFileError("holds another number of calibrated groups than it names.")
    groups = Groups()
    for place, label in _each(labels):
        prefix = f"group{place}"
        curves = {
            name: MiscoverageCurve(
                "upper" if name.startswith("upper") else "lower",
                arrays[f"{prefix}.{name}.estimate"],
                arrays[f"{prefix}.{name}.feared"],
                arrays[f"{prefix}.{name}.standard_error"],
                arrays[f"{prefix}.{name}.n_rows"],
                check_integer("n_events", numbers["n_events"], minimum=0),
                check_number("share", numbers["share"]),
                check_number("caution", numbers["caution"]),
            )
            for name, numbers in expect("scores", scores[place], dict).items()
        }
        found: Scores = {
            (side, None): replace(curves[side], unlimited=curves.get(f"{side}.unlimited"))
            for side in _SIDES
        }
        known = Recalibration(arrays[f"{prefix}.index"], arrays[f"{prefix}.level"])
        groups[label] = Group(None, known, method, found)
    return groups


def _censoring_lower(rows: CalibrationRows) -> float:
    if isinstance(rows.censoring, ModelledCensoring):
        return float(rows.censoring.curve.lower)
    return 0.0


def restored_conformal(cls: type[Conformal], part: Part, network: Any) -> Conformal:
    """Return the estimator with its models and calibration rows."""
    model, entries = restored(cls, part, network), part.description
    decode = Decoder(part, from_part)
    arrays = own_arrays(part)
    is_modelled = "fitted.censoring" in part.parts
    scores = entries.get("scores")
    _check(arrays, scores, is_modelled=is_modelled)
    fitted = part.parts.get("fitted.estimator")
    model.estimator_ = model.estimator if fitted is None else from_part(fitted, network)
    curve = None
    if not is_modelled:
        curve = KaplanMeier(*(arrays[f"censoring.{name}"] for name in _STEPS))
    p_value = entries["censoring_p_value"]
    model._censoring = CensoringModel(
        expect("censoring_reason", entries["censoring_reason"], str),
        None if p_value is None else check_number("censoring_p_value", p_value),
        curve,
        from_part(part.parts["fitted.censoring"], network) if is_modelled else None,
    )
    model.censoring_estimator_ = model._censoring.model
    model._method_name = expect("method", entries["method"], str)
    model.method_ = expect("reason", entries["reason"], str)
    model.clipped_share_ = check_number("clipped_share", entries["clipped_share"])
    p_value = entries["calibration_p_value"]
    model.calibration_p_value_ = None if p_value is None else check_number("p_value", p_value)
    shift = entries["shift"]
    model.shift_ = None if shift is None else ShiftTest(**decode(shift))
    model.coverage_ = CoverageTable(
        tuple(CoverageRow(**decode(row)) for row in expect("coverage", entries["coverage"], list))
    )
    labels = list(decode(expect("labels", entries["labels"], list)))
    method, mirror = look_up("method", model._method_name, METHODS), model.time_transform_.mirror
    if scores is None:
        rows = _rows(arrays, model._censoring, decode, entries)
        group_of = _labels(np.asarray(labels), arrays["calibration.group"])
        model._calibration = Calibration.of(rows, group_of, method, mirror=mirror)
    else:
        groups = _restored_groups(labels, scores, arrays, method)
        model._calibration = Calibration(groups, mirror)
    model._train_sample = None
    return model


def _check(arrays: Arrays, scores: Any, *, is_modelled: bool) -> None:
    """Refuse arrays that do not belong together."""
    infinite = "calibration.censoring_time"
    if scores is None:
        expected = _expected_rows(arrays, infinite, is_modelled=is_modelled)
    else:
        expected = _expected_sums(arrays, expect("scores", scores, list))
    if not is_modelled:
        n_steps = arrays["censoring.time"].size
        expected |= {f"censoring.{name}": ("f8", (n_steps,)) for name in _STEPS}
    check_arrays(arrays, expected, may_be_nan=(infinite,))


def _expected_rows(arrays: Arrays, infinite: str, *, is_modelled: bool) -> _Expected:
    n, k = arrays["calibration.time"].size, len(LEVELS)
    expected: _Expected = {
        "calibration.time": ("f8", (n,)),
        "calibration.event": ("u1", (n,)),
        "calibration.weight": ("f8", (n,)),
        "calibration.quantiles": ("f8", (n, k)),
        "calibration.group": ("i8", (n,)),
    }
    if infinite in arrays:
        expected[infinite] = ("f8", (n,))
    if is_modelled:
        expected["calibration.censoring_quantiles"] = ("f8", (n, k))
    return expected


def _expected_sums(arrays: Arrays, scores: list[Any]) -> _Expected:
    expected: _Expected = {}
    for place, numbers in _each(scores):
        n_known = arrays[f"group{place}.index"].size
        expected |= {f"group{place}.{name}": ("f8", (n_known,)) for name in ("index", "level")}
        for name in expect("scores", numbers, dict):
            expected |= {f"group{place}.{name}.{each}": ("f8", INDICES.shape) for each in _SUMS}
    return expected


def _labels(distinct: NDArray[Any], code: NDArray[np.int64]) -> NDArray[Any]:
    if code.size and (code.min() < 0 or code.max() >= len(distinct)):
        raise ModelFileError("holds calibration rows of groups that it does not name.")
    return distinct[code]


def _rows(
    arrays: Arrays, censoring: CensoringModel, decode: Decoder, entries: dict[str, Any]
) -> CalibrationRows:
    lower = float(decode(entries["lower"]))
    curves: Any
    if censoring.curve is not None:
        curves = CommonCensoring(censoring.curve, arrays["calibration.time"].size)
    else:
        start = float(decode(entries["censoring_lower"]))
        values = arrays["calibration.censoring_quantiles"]
        curves = ModelledCensoring(QuantileCurve(values, LEVELS, start))
    return CalibrationRows(
        Target(arrays["calibration.time"], arrays["calibration.event"].astype(np.bool_)),
        QuantileCurve(arrays["calibration.quantiles"], LEVELS, lower),
        curves,
        arrays["calibration.weight"],
        censoring_time=arrays.get("calibration.censoring_time"),
    )
