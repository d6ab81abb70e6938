"""What a model file holds of a pool: its fitted candidates as parts, their weights as arrays."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._rows._cross_fit import depend_on_ensemble
from censquant._storage._codec import Array, Entry, Fields, Reader, Writer, decoded, require
from censquant._storage._parts import expect
from censquant._validation import check_integer, check_number, check_sizes
from censquant.estimators.ensemble._mixture import Bounds, Mixture
from censquant.estimators.ensemble._table import POOL, CandidateRow, CandidateTable
from censquant.quantiles._distribution_curve import TailLimit

if TYPE_CHECKING:
    from censquant.estimators.ensemble._pool import Pool


def _read_counts(name: str, counts: Any) -> list[tuple[str, int]]:
    """Return the names of the candidates with how many models each consists of."""
    return [
        (expect(name, candidate, str), check_integer(name, n, minimum=1))
        for candidate, n in expect(name, counts, list)
    ]


def _read_gap(name: str, gap: Any) -> tuple[float, float]:
    is_pair = isinstance(gap, list) and len(gap) == 2
    require(is_pair, "holds a gap of the calibration that is no pair of shares")
    return check_number(name, gap[0]), check_number(name, gap[1])


_STORED: Fields = {
    "input_shape": Entry(
        lambda name, shape: check_sizes(name, expect(name, shape, list)), "_input_shape"
    ),
    # A list, since JSON's objects have no order and the arrays of weights have this one.
    "candidates": Entry(
        _read_counts,
        "estimators_",
        plain=lambda found: [[name, len(models)] for name, models in found.items()],
    ),
    "table": Entry(
        lambda name, rows: CandidateTable(
            tuple(CandidateRow(**decoded(row)) for row in expect(name, rows, list))
        ),
        "candidates_",
        plain=lambda table: [asdict(row) for row in table],
        says="scores of the candidates on held-out rows",
    ),
    "calibration_p_value": Entry(check_number, "calibration_p_value_", optional=True),
    "calibration_gap": Entry(_read_gap, "calibration_gap_", optional=True, is_new=True),
    "bounds": Entry(
        lambda name, bounds: decoded(expect(name, bounds, dict)),
        "_mixture.bounds",
        plain=lambda bounds: {"lower": bounds.lower, "low": bounds.low},
    ),
    "weights": Array("f8", ("candidates",), "_mixture.weights"),
    "reference": Array("f8", ("candidates",), "_mixture.reference"),
}


def store_pool(pool: "Pool", writer: Writer) -> None:
    """Add candidates and their weights; predictions of held-out rows are left out."""
    writer.add(_STORED, pool)
    for name, models in pool.estimators_.items():
        for place, model in enumerate(models):
            writer.add_model(f"fitted.{name}.{place}", model)


def read_pool(pool: "Pool", reader: Reader) -> Callable[[], None]:
    """Take what `store_pool` added, and return what restores the candidates."""
    counts = _read_counts("candidates", reader.part.description["candidates"])
    reader.sizes["candidates"] = len(counts)
    known = reader.fill(pool, _STORED)
    for name in ("weights", "reference"):
        total = float(known[name].sum())
        is_whole = abs(total - 1.0) < 1e-9 or (name != "weights" and not total)
        shares = is_whole and (known[name] >= 0).all()
        require(shares, f"holds {name} of candidates that are not shares of a whole")
    lower, low = (float(known["bounds"][name]) for name in ("lower", "low"))
    tail = TailLimit.of(*sorted(pool.time_transform_.forward(np.array(pool.follow_up_)).tolist()))
    in_order = max(lower, low) <= tail.end < math.inf
    require(in_order, "holds bounds of times that are not in order")
    pool._mixture = Mixture(known["weights"], known["reference"], Bounds(lower, low, tail))
    pool.weights_ = {
        row.name: check_number("weight", row.weight) for row in pool.candidates_ if row.name != POOL
    }
    pool.oof_curve_ = pool.oof_rows_ = None

    def restore_candidates() -> None:
        pool.estimators_ = {
            name: [reader.model(f"fitted.{name}.{place}") for place in range(n)]
            for name, n in counts
        }
        for models in pool.estimators_.values():
            for model in models:
                depend_on_ensemble(model)

    return restore_candidates
