"""The arrays of a model of follow-up in a file, checked before anything is done with them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._trees._follow_up._rows import Trees
from censquant._trees._follow_up_kernels import N_BINS, NO_BIN

State = Mapping[str, NDArray[Any]]

FORESTS = ("censoring", "events")
_DEEPEST = 32
# Type and number of axes of each array.
_OF_FOREST = {
    "slope": (np.float64, 2),
    "constant": (np.float64, 1),
    "root": (np.int64, 1),
    "nodes": (np.int64, 1),
}
_LAYOUT = {
    "n_features": (np.int64, 1),
    "columns": (np.int64, 1),
    "edges": (np.float64, 2),
    "limits": (np.float64, 1),
    "curve": (np.float32, 2),
    "grid": (np.float64, 1),
} | {f"{forest}.{name}": layout for forest in FORESTS for name, layout in _OF_FOREST.items()}


def forest_state(forest: str, trees: Trees) -> dict[str, NDArray[Any]]:
    """Return the arrays of a forest by their names in a state."""
    names = (f"{forest}.{name}" for name in _OF_FOREST)
    return dict(zip(names, trees.arrays(), strict=True))


def checked_forests(state: State) -> list[Trees]:
    """Return the two forests of a state; ValueError unless all of its arrays fit together.

    After this no walk through a tree and no look-up of a leaf leaves its array.
    """
    if set(state) != set(_LAYOUT):
        raise ValueError(
            f"a model of follow-up must consist of the arrays {', '.join(sorted(_LAYOUT))}, "
            f"got {', '.join(sorted(state)) or 'none'}."
        )
    for name, (kind, n_axes) in _LAYOUT.items():
        array = state[name]
        if array.dtype != kind or array.ndim != n_axes:
            raise ValueError(
                f"{name} of a model of follow-up must be an array of {np.dtype(kind)} with "
                f"{n_axes} axes, got {array.dtype} and {array.ndim}."
            )
    columns, n_features = state["columns"], state["n_features"]
    _require("n_features", n_features.shape == (1,) and n_features[0] >= 0, "be one count")
    inside = columns.size == 0 or (columns[0] >= 0 and columns[-1] < n_features[0])
    _require("columns", inside and _increases(columns), "be increasing numbers of features")
    edges = state["edges"]
    _require("edges", edges.shape == (len(columns), N_BINS - 1), "have one row for each column")
    _require("edges", (edges[:, 1:] >= edges[:, :-1]).all(), "not decrease")
    forests = [_checked_forest(state, forest) for forest in FORESTS]
    _check_leaves(state, *forests)
    return forests


def _check_leaves(state: State, by_censoring: Trees, by_events: Trees) -> None:
    """Refuse values of leaves that do not belong to the trees."""
    limits, curve, grid = state["limits"], state["curve"], state["grid"]
    _require("limits", limits.shape == by_censoring.nodes.shape, "have one value for each node")
    _require("limits", np.isfinite(limits).all(), "be finite")
    _require("grid", np.isfinite(grid).all() and _increases(grid), "be increasing times")
    _require("grid", len(grid) > 0 or not len(by_events.root), "have at least one time")
    shape = (len(by_events.nodes), len(grid))
    _require("curve", curve.shape == shape, "have one row for each node, a column for each time")
    _require("curve", ((curve >= 0) & (curve <= 1)).all(), "lie between 0 and 1")
    both = (len(by_censoring.root) == 0) == (len(by_events.root) == 0)
    _require("events.root", both, "have trees if and only if censoring.root has")


def _checked_forest(state: State, forest: str) -> Trees:
    """Return a forest whose every walk ends in a leaf of its own tree."""
    slope, constant, root, nodes = (state[f"{forest}.{name}"] for name in _OF_FOREST)
    shape = (len(root), len(state["columns"]))
    _require(f"{forest}.slope", slope.shape == shape, "have one row for each tree")
    _require(f"{forest}.constant", constant.shape == root.shape, "have one value for each tree")
    finite = np.isfinite(slope).all() and np.isfinite(constant).all()
    _require(f"{forest}.slope", finite, "be finite, and the constants too")
    if not len(root):
        _require(f"{forest}.nodes", len(nodes) == 0, "be empty where there are no trees")
        return Trees(slope, constant, root, nodes, 0)
    ordered = root[0] == 0 and root[-1] < len(nodes) and _increases(root)
    _require(f"{forest}.root", ordered, "be the increasing places of the trees' first nodes")
    place = np.arange(len(nodes))
    end = np.append(root[1:], len(nodes))[np.searchsorted(root, place, side="right") - 1]
    left, feature, cut = nodes >> 32, (nodes >> 16) & 0xFFFF, nodes & 0xFFFF
    is_leaf = left == place
    inside = np.where(is_leaf, cut == NO_BIN, (left > place) & (left + 1 < end))
    _require(f"{forest}.nodes", inside.all(), "lead to later nodes of the same tree")
    known = feature[~is_leaf] <= len(state["columns"])
    _require(
        f"{forest}.nodes", known.all() and not feature[is_leaf].any(), "split by known features"
    )
    depth = np.zeros(len(nodes), np.int64)
    for node in np.flatnonzero(~is_leaf):
        depth[left[node] : left[node] + 2] = depth[node] + 1
    deepest = int(depth.max())
    _require(f"{forest}.nodes", deepest <= _DEEPEST, f"be at most {_DEEPEST} splits deep")
    return Trees(np.ascontiguousarray(slope), constant, root, nodes, deepest)


def _increases(values: NDArray[Any]) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _require(name: str, holds: Any, rule: str) -> None:
    if not holds:
        raise ValueError(f"{name} of a model of follow-up must {rule}.")
