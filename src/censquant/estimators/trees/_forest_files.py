"""What a model file holds of a forest, checked before anything is done with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._storage._parts import Arrays, check_arrays
from censquant._trees._forest import MOST_BINS, FeatureUnits, Leaves, TimeBins
from censquant.exceptions import ModelFileError

_LEAVES = ("root", "children", "feature", "threshold", "start", "codes", "weights")


def forest_arrays(units: FeatureUnits, bins: TimeBins, leaves: Leaves) -> Arrays:
    """Return the arrays of a forest by their names in a file."""
    return {
        "half_median": units.half_median,
        "half_reach": units.half_reach,
        "times": bins.times,
        **dict(zip(_LEAVES, leaves.arrays(), strict=True)),
    }


def restored_forest(arrays: Arrays, n_features: int) -> tuple[FeatureUnits, TimeBins, Leaves]:
    """Return the forest of the arrays; ModelFileError unless they fit together.

    After this no walk through a tree leaves its arrays or fails to end, and no leaf is empty.
    """
    n_nodes, n_rows = arrays["feature"].size, arrays["codes"].size
    check_arrays(
        arrays,
        {
            "half_median": ("f8", (n_features,)),
            "half_reach": ("f8", (n_features,)),
            "times": ("f8", (arrays["times"].size,)),
            "root": ("i4", (arrays["root"].size,)),
            "children": ("i4", (n_nodes, 2)),
            "feature": ("i4", (n_nodes,)),
            "threshold": ("f4", (n_nodes,)),
            "start": ("i8", (arrays["start"].size,)),
            "codes": ("u2", (n_rows,)),
            "weights": ("f4", (n_rows if arrays["weights"].size else 0,)),
        },
    )
    units = FeatureUnits(arrays["half_median"], arrays["half_reach"])
    _require("half_reach", units.half_reach > 0.0, "hold positive numbers")
    times = arrays["times"]
    _require("times", 1 <= len(times) <= MOST_BINS, f"hold 1 to {MOST_BINS} times")
    _require("times", np.diff(times) > 0.0, "increase")
    _check_leaves(arrays, n_features)
    return units, TimeBins(times), Leaves(*(arrays[name] for name in _LEAVES))


def _check_leaves(arrays: Arrays, n_features: int) -> None:
    """Refuse trees in which a walk could leave the arrays, and leaves without rows."""
    root, children, feature = arrays["root"], arrays["children"], arrays["feature"]
    n_nodes, start = len(feature), arrays["start"]
    _require(
        "root",
        len(root) > 0 and root[0] == 0 and root[-1] < n_nodes,
        "start with the first node and end",
    )
    _require("root", np.diff(root) > 0, "increase")
    is_leaf = children[:, 0] < 0
    numbers = np.arange(1, is_leaf.sum() + 1)
    _require("children", children[is_leaf] == -numbers[:, None], "number the leaves in order")
    place = np.flatnonzero(~is_leaf)
    end = np.append(root[1:], n_nodes)[np.searchsorted(root, place, side="right") - 1]
    inside = (children[place] > place[:, None]) & (children[place] < end[:, None])
    _require("children", inside, "lead to later nodes of the same tree")
    _require("feature", (feature >= 0) & (feature < n_features), "name known features")
    _require("start", len(start) == len(numbers) + 1, "have one entry per leaf and the end")
    _require("start", start[0] == 0 and start[-1] == len(arrays["codes"]), "cover all rows")
    _require("start", np.diff(start) > 0, "give rows to every leaf")
    codes = arrays["codes"]
    _require("codes", (codes <= 2 * len(arrays["times"]) + 1) & (codes != 1), "refer to its times")
    _require("weights", arrays["weights"] > 0.0, "hold positive numbers")


def _require(name: str, holds: NDArray[np.bool_] | bool | Any, rule: str) -> None:
    if not np.all(holds):
        raise ModelFileError(f"holds a forest whose array {name!r} does not {rule}.")
