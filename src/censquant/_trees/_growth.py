"""Growing a forest: scikit-learn's extremely randomised trees on log-rank scores."""

from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from censquant._engine.training import side_by_side
from censquant._trees._leaves import Leaves
from censquant._typing import Floats


@dataclass(frozen=True)
class ForestGrowth:
    """How the trees of a forest are grown.

    Parameters
    ----------
    n_trees, min_leaf : int
    max_features : int or float
        As in scikit-learn: how many features a split may choose from, or their share.
    n_rows : int
        Rows of each tree, drawn without replacement if there are more.
    """

    n_trees: int
    min_leaf: int
    max_features: int | float
    n_rows: int

    def grow(
        self,
        x: NDArray[np.float32],
        scores: Floats,
        codes: NDArray[np.uint16],
        weight: Floats,
        rng: np.random.Generator,
        n_jobs: int | None,
        stopping: Event | None = None,
    ) -> Leaves:
        """Return the trees, whose leaves hold the rows that they were grown on."""
        weights = None if (weight == weight[0]).all() else weight
        grow = partial(self._tree, x, scores, codes, weights)
        tasks = [partial(grow, tree_rng) for tree_rng in rng.spawn(self.n_trees)]
        grown = side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping)
        return Leaves.joined(grown)

    def _tree(
        self,
        x: NDArray[np.float32],
        scores: Floats,
        codes: NDArray[np.uint16],
        weights: Floats | None,
        rng: np.random.Generator,
        stopping: Event,
    ) -> Leaves:
        rows: Any = slice(None)
        if len(x) > self.n_rows:
            rows = np.sort(rng.choice(len(x), self.n_rows, replace=False))
        own = None if weights is None else weights[rows]
        tree = ExtraTreeRegressor(
            min_samples_leaf=self.min_leaf,
            max_features=self.max_features,
            random_state=int(rng.integers(2**31)),
        )
        tree.fit(x[rows], scores[rows], sample_weight=own)
        return Leaves.from_tree(tree.tree_, x[rows], codes[rows], own)
