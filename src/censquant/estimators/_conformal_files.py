"""What a model file holds of a conformal estimator: models as parts, calibration rows as arrays.

A model that was saved without calibration rows has their sums in place of them.
"""

from copy import copy
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant._calibration._censoring import CommonCensoring, ModelledCensoring
from censquant._calibration._coverage import CoverageRow, CoverageTable
from censquant._calibration._family import INDICES, LEVELS, Recalibration
from censquant._calibration._groups import Calibration, Group, Groups, Scores
from censquant._calibration._methods import METHODS
from censquant._calibration._rules import (
    FOLLOWED_SHARE,
    BoundMethod,
    CalibrationRows,
    MiscoverageCurve,
    Side,
)
from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Object,
    Reader,
    Writer,
    decoded,
    kind,
    refuse_arrays,
    require,
)
from censquant._storage._parts import expect
from censquant._validation import check_integer, check_number, look_up
from censquant.estimators._conformal_models import CensoringModel, ShiftTest
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target

if TYPE_CHECKING:
    from censquant.estimators._conformal import ConformalSurvivalRegressor

Conformal = TypeVar("Conformal", bound="ConformalSurvivalRegressor")

_STEPS = ("time", "survival", "n_at_risk", "n_events", "n_censored")
_SIDES: tuple[Side, ...] = ("lower", "upper")
_STORED: Fields = {
    "method": Entry(kind(str), "_method_name"),
    "reason": Entry(kind(str), "method_"),
    "censoring_reason": Entry(kind(str), "_censoring.reason"),
    "censoring_p_value": Entry(check_number, "_censoring.p_value", optional=True),
    "clipped_share": Entry(check_number, "clipped_share_"),
    "calibration_p_value": Entry(check_number, "calibration_p_value_", optional=True),
    "shift": Entry(
        lambda name, test: ShiftTest(**decoded(test)), "shift_", optional=True, plain=asdict
    ),
    "coverage": Entry(
        lambda name, rows: CoverageTable(
            tuple(CoverageRow(**decoded(row)) for row in expect(name, rows, list))
        ),
        "coverage_",
        plain=lambda table: [asdict(row) for row in table],
    ),
}
_GROUPS: Fields = {
    "labels": Entry(lambda name, labels: list(decoded(expect(name, labels, list)))),
    "scores": Entry(kind(list), optional=True, is_new=True),
    "lower": Entry(lambda name, lower: float(decoded(lower))),
    "censoring_lower": Entry(lambda name, lower: float(decoded(lower))),
}
_CURVE: Fields = {
    "censoring": Object({name: Array("f8", ("steps",)) for name in _STEPS}, KaplanMeier),
}
_ROWS: Fields = {
    "time": Array("f8", ("rows",)),
    "event": Array("u1", ("rows",)),
    "weight": Array("f8", ("rows",)),
    "quantiles": Array("f8", ("rows", len(LEVELS))),
    "group": Array("i8", ("rows",)),
    "censoring_time": Array("f8", ("rows",), optional=True, finite=False),
    "censoring_quantiles": Array("f8", ("rows", len(LEVELS)), optional=True),
}
_RECALIBRATION: Fields = {"index": Array("f8", ("known",)), "level": Array("f8", ("known",))}
_SUMS: Fields = {
    name: Array("f8", INDICES.shape) for name in ("estimate", "feared", "standard_error", "n_rows")
}


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


def store_bounds(model: "ConformalSurvivalRegressor", writer: Writer) -> None:
    """Add models, and calibration rows or their sums."""
    calibration, censoring = model._calibration, model._censoring
    rows, groups = calibration.rows, calibration.groups
    lower = censoring_lower = 0.0
    scores: list[Any] | None = None
    if rows is None or calibration.labels is None:
        scores = [_store_sums(f"group{k}", each, writer) for k, each in enumerate(groups.values())]
        writer.contents += (
            "at which of their predicted levels calibration rows had events",
            "estimated coverage of bounds, and when follow-up ended",
        )
    else:
        writer.contents.append("times, events and predictions of the calibration rows")
        modelled = rows.censoring if isinstance(rows.censoring, ModelledCensoring) else None
        lower = float(rows.curve.lower)
        censoring_lower = 0.0 if modelled is None else float(modelled.curve.lower)
        columns = {
            "time": rows.target.time,
            "event": rows.target.event.astype(np.uint8),
            "weight": rows.weight,
            "quantiles": rows.curve.values,
            "group": np.unique(calibration.labels, return_inverse=True)[1].astype(np.int64),
            "censoring_time": rows.censoring_time,
            "censoring_quantiles": None if modelled is None else modelled.curve.values,
        }
        writer.add(_ROWS, columns, "calibration.")
    writer.add(_STORED, model)
    writer.add(_CURVE, {"censoring": censoring.curve})
    numbers = {"labels": list(groups), "scores": scores, "lower": lower}
    writer.add(_GROUPS, {**numbers, "censoring_lower": censoring_lower})
    if model.cv != "prefit":
        writer.add_model("fitted.estimator", model.estimator_)
    if censoring.model is not None:
        writer.add_model("fitted.censoring", censoring.model)


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


def _store_sums(prefix: str, group: Group, writer: Writer) -> dict[str, dict[str, float]]:
    """Add the arrays of a group without rows; return the numbers beside them."""
    writer.add(_RECALIBRATION, group.recalibration, f"{prefix}.")
    numbers = {}
    for name, curve in _curves(group).items():
        writer.add(_SUMS, curve, f"{prefix}.{name}.")
        numbers[name] = {
            "n_events": curve.n_events,
            "share": curve.share,
            "caution": curve.caution,
        }
    return numbers


def restore_bounds(model: "ConformalSurvivalRegressor", reader: Reader) -> None:
    """Take what `store_bounds` added."""
    known, of_groups = reader.fill(model, _STORED), reader.read(_GROUPS)
    is_modelled = "fitted.censoring" in reader.part.parts
    curve = None if is_modelled else reader.read(_CURVE)["censoring"]
    labels, scores = of_groups["labels"], of_groups["scores"]
    method, mirror = look_up("method", model._method_name, METHODS), model.time_transform_.mirror
    if scores is None:
        columns = reader.read(_ROWS, "calibration.")
        if is_modelled != (columns["censoring_quantiles"] is not None):
            refuse_arrays()
        rows = _restored_rows(columns, curve, of_groups["lower"], of_groups["censoring_lower"])
        code = columns["group"]
        named = (code >= 0) & (code < len(labels))
        require(named, "holds calibration rows of groups that it does not name")
        group_of = np.asarray(labels)[code]
        model._calibration = Calibration.of(rows, group_of, method, mirror=mirror)
    else:
        same = len(labels) == len(scores)
        require(same, "holds another number of calibrated groups than it names")
        groups = Groups()
        for place, label in enumerate(labels):
            groups[label] = _restored_group(f"group{place}.", scores[place], reader, method)
        model._calibration = Calibration(groups, mirror)
    has_model = "fitted.estimator" in reader.part.parts
    model.estimator_ = reader.model("fitted.estimator") if has_model else model.estimator
    model.censoring_estimator_ = reader.model("fitted.censoring") if is_modelled else None
    model._censoring = CensoringModel(
        known["censoring_reason"], known["censoring_p_value"], curve, model.censoring_estimator_
    )
    model._train_sample = None


def _restored_group(prefix: str, scores: Any, reader: Reader, method: BoundMethod) -> Group:
    """Return a group without rows from the numbers and arrays that `_store_sums` made of it."""
    recalibration = Recalibration(**reader.read(_RECALIBRATION, prefix, {}))
    curves = {}
    for name, numbers in expect("scores", scores, dict).items():
        curves[name] = MiscoverageCurve(
            "upper" if name.startswith("upper") else "lower",
            **reader.read(_SUMS, f"{prefix}{name}."),
            n_events=check_integer("n_events", numbers["n_events"], minimum=0),
            share=check_number("share", numbers["share"]),
            caution=check_number("caution", numbers["caution"]),
        )
    found: Scores = {
        (side, None): replace(curves[side], unlimited=curves.get(f"{side}.unlimited"))
        for side in _SIDES
    }
    return Group(None, recalibration, method, found)


def _restored_rows(
    columns: dict[str, Any], curve: KaplanMeier | None, lower: float, censoring_lower: float
) -> CalibrationRows:
    censoring: Any
    if curve is not None:
        censoring = CommonCensoring(curve, columns["time"].size)
    else:
        values = columns["censoring_quantiles"]
        censoring = ModelledCensoring(QuantileCurve(values, LEVELS, censoring_lower))
    return CalibrationRows(
        Target(columns["time"], columns["event"].astype(np.bool_)),
        QuantileCurve(columns["quantiles"], LEVELS, lower),
        censoring,
        columns["weight"],
        censoring_time=columns["censoring_time"],
    )
