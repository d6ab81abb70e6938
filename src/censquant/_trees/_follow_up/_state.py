"""What a model file holds of a model of follow-up, checked before anything is done with it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._storage._codec import Array, Fields, Object, Reader, refuse_arrays, require
from censquant._trees._follow_up._forest import FollowUp
from censquant._trees._follow_up._rows import Trees
from censquant._trees._follow_up_kernels import N_BINS, NO_BIN

_DEEPEST = 32


def _must(name: str, holds: Any, rule: str) -> None:
    require(holds, f"holds a model of follow-up whose array {name!r} does not {rule}")


def _restored_trees(
    slope: NDArray[Any], constant: NDArray[Any], root: NDArray[Any], nodes: NDArray[Any]
) -> Trees:
    """Return trees whose every walk ends in a leaf of its own tree."""
    if not len(root):
        _must("nodes", not len(nodes), "lie in a tree")
        return Trees(slope, constant, root, nodes, 0)
    ordered = root[0] == 0 and root[-1] < len(nodes) and _increases(root)
    _must("root", ordered, "hold the increasing places of the trees' first nodes")
    place = np.arange(len(nodes))
    end = np.append(root[1:], len(nodes))[np.searchsorted(root, place, side="right") - 1]
    left, feature, cut = nodes >> 32, (nodes >> 16) & 0xFFFF, nodes & 0xFFFF
    is_leaf = left == place
    inside = np.where(is_leaf, cut == NO_BIN, (left > place) & (left + 1 < end))
    _must("nodes", inside, "lead to later nodes of the same tree")
    known = np.where(is_leaf, feature == 0, feature <= slope.shape[1])
    _must("nodes", known, "split by known features")
    depth = np.zeros(len(nodes), np.int64)
    for node in np.flatnonzero(~is_leaf):
        depth[left[node] : left[node] + 2] = depth[node] + 1
    deepest = int(depth.max())
    _must("nodes", deepest <= _DEEPEST, f"end after {_DEEPEST} splits")
    return Trees(slope, constant, root, nodes, deepest)


_TREES: Fields = {
    "slope": Array("f8", ("trees", "columns")),
    "constant": Array("f8", ("trees",)),
    "root": Array("i8", ("trees",)),
    "nodes": Array("i8", ("nodes",)),
}
_FIELDS: Fields = {
    "n_features": Array("i8", (1,)),
    "columns": Array("i8", ("columns",)),
    "edges": Array("f8", ("columns", N_BINS - 1), finite=False),
    "limits": Array("f8", ("limits",)),
    "curve": Array("f4", ("curves", "times")),
    "grid": Array("f8", ("times",)),
    "censoring": Object(_TREES, _restored_trees, "by_censoring"),
    "events": Object(_TREES, _restored_trees, "by_events"),
}


def _restored(
    n_features: NDArray[Any],
    columns: NDArray[Any],
    edges: NDArray[Any],
    limits: NDArray[Any],
    curve: NDArray[Any],
    grid: NDArray[Any],
    censoring: Trees,
    events: Trees,
) -> FollowUp:
    """Return the model; no walk through a tree and no look-up of a leaf leaves its array."""
    inside = not len(columns) or (columns[0] >= 0 and columns[-1] < n_features[0])
    _must("columns", inside and _increases(columns), "hold increasing numbers of features")
    _must("edges", edges[:, 1:] >= edges[:, :-1], "increase")
    _must("limits", len(limits) == len(censoring.nodes), "have one value for each node")
    _must("grid", _increases(grid), "increase")
    _must("grid", len(grid) > 0 or not len(events.root), "have at least one time")
    _must("curve", len(curve) == len(events.nodes), "have one row for each node")
    _must("curve", (curve >= 0) & (curve <= 1), "lie between 0 and 1")
    both = (len(censoring.root) == 0) == (len(events.root) == 0)
    _must("events.root", both, "have trees where 'censoring.root' has")
    return FollowUp(int(n_features[0]), columns, edges, censoring, limits, events, curve, grid)


def _increases(values: NDArray[Any]) -> bool:
    return bool((values[1:] > values[:-1]).all())


FEATURES: Fields = {
    "range": Array(
        "f8",
        (2, "input"),
        "_feature_range",
        optional=True,
        says="smallest and largest value of each feature",
    ),
    "follow_up": Object(
        _FIELDS,
        _restored,
        "_follow_up",
        flag="any_censored",
        says="shares of the training rows still under observation, in groups",
    ),
}
"""What every estimator stores of features, and of follow-up if rows were censored."""


def restore_features(estimator: Any, reader: Reader) -> None:
    """Give an estimator the fields `FEATURES`."""
    shape = getattr(estimator, "_input_shape", (estimator.n_features_in_,))
    reader.sizes["input"] = shape
    reader.fill(estimator, FEATURES)
    if estimator._feature_range is None and len(shape) == 1:
        refuse_arrays()
    follow_up = estimator._follow_up
    fits = follow_up is None or follow_up.n_features == math.prod(shape)
    require(fits, "holds a model of follow-up of other features")
