"""What a model file holds of a conformal estimator: models as parts, calibration rows as arrays."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_number, look_up
from censquant.calibration import METHODS, CalibrationRows, CommonCensoring, ModelledCensoring
from censquant.estimators._parts import Arrays, Decoder, Encoder, Part, check_arrays, expect
from censquant.estimators._persistence import fitted_part, from_part, own_arrays, restored, to_part
from censquant.estimators.meta._bounds._calibration import Calibration
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

_STEPS = ("time", "survival", "n_at_risk", "n_events", "n_censored")


def conformal_part(model: "ConformalSurvivalRegressor") -> Part:
    """Return the fitted estimator as data."""
    encode = Encoder(to_part)
    calibration, censoring = model._calibration, model._censoring
    rows = calibration.rows
    arrays: Arrays = {
        "calibration.time": rows.target.time,
        "calibration.event": rows.target.event.astype(np.uint8),
        "calibration.weight": rows.weight,
        "calibration.quantiles": rows.curve.values,
        "calibration.group": np.unique(calibration.labels, return_inverse=True)[1].astype(np.int64),
    }
    if rows.censoring_time is not None:
        arrays["calibration.censoring_time"] = rows.censoring_time
    if isinstance(rows.censoring, ModelledCensoring):
        arrays["calibration.censoring_quantiles"] = rows.censoring.curve.values
    if censoring.curve is not None:
        arrays |= {f"censoring.{name}": getattr(censoring.curve, name) for name in _STEPS}
    description = {
        "method": model._method_name,
        "reason": model.method_,
        "labels": encode(np.unique(calibration.labels).tolist(), "labels"),
        "lower": encode(float(rows.curve.lower), "lower"),
        "censoring_lower": encode(_censoring_lower(rows), "censoring_lower"),
        "censoring_reason": censoring.reason,
        "censoring_p_value": censoring.p_value,
        "clipped_share": model.clipped_share_,
        "calibration_p_value": model.calibration_p_value_,
        "shift": None if model.shift_ is None else encode(asdict(model.shift_), "shift"),
        "coverage": [encode(asdict(row), "coverage") for row in model.coverage_],
    }
    contents = ("times, events and predictions of the calibration rows",)
    part = fitted_part(model, description, arrays, contents=contents)
    if model.cv != "prefit":
        part.parts["fitted.estimator"] = to_part(model.estimator_)
    if censoring.model is not None:
        part.parts["fitted.censoring"] = to_part(censoring.model)
    return part


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
    _check(arrays, is_modelled=is_modelled)
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
    labels = np.asarray(decode(expect("labels", entries["labels"], list)))
    model._calibration = Calibration(
        _rows(arrays, model._censoring, decode, entries),
        _labels(labels, arrays["calibration.group"]),
        look_up("method", model._method_name, METHODS),
        model.time_transform_.mirror,
    )
    model._train_sample = None
    return model


def _check(arrays: Arrays, *, is_modelled: bool) -> None:
    """Refuse arrays that do not belong together."""
    n, k = arrays["calibration.time"].size, len(LEVELS)
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "calibration.time": ("f8", (n,)),
        "calibration.event": ("u1", (n,)),
        "calibration.weight": ("f8", (n,)),
        "calibration.quantiles": ("f8", (n, k)),
        "calibration.group": ("i8", (n,)),
    }
    infinite = "calibration.censoring_time"
    if infinite in arrays:
        expected[infinite] = ("f8", (n,))
    if is_modelled:
        expected["calibration.censoring_quantiles"] = ("f8", (n, k))
    else:
        n_steps = arrays["censoring.time"].size
        expected |= {f"censoring.{name}": ("f8", (n_steps,)) for name in _STEPS}
    check_arrays(arrays, expected, may_be_nan=(infinite,))


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
