"""Trees as plain arrays, and the training rows in their leaves."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._trees._walk import find_leaves

Integers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Trees, and for each of their leaves the codes of the rows that fell into it.

    Parameters
    ----------
    root : int32 array of shape (n_trees,)
        Place of the first node of each tree; all nodes are in the same arrays.
    children : int32 array of shape (n_nodes, 2)
        Places of the two nodes below; for a leaf twice minus its number, minus 1.
    feature : int32 array of shape (n_nodes,)
        What a node splits by; 0 for a leaf.
    threshold : float32 array of shape (n_nodes,)
        Values above it go to the second child; 0 for a leaf.
    start : int64 array of shape (n_leaves + 1,)
        Where the rows of each leaf begin, and where the last end.
    codes : uint16 array of shape (n_rows_in_leaves,)
        Coded times of the rows, leaf after leaf.
    weights : float32 array of the same shape, or of shape (0,)
        Their weights; empty where all are equal.
    """

    root: Integers
    children: Integers
    feature: Integers
    threshold: NDArray[np.float32]
    start: NDArray[np.int64]
    codes: NDArray[np.uint16]
    weights: NDArray[np.float32]

    @classmethod
    def from_tree(
        cls, tree: Any, x: NDArray[np.float32], codes: NDArray[np.uint16], weights: Any
    ) -> Self:
        """Return the arrays of one of scikit-learn's fitted trees and the given rows.

        ``weights`` are those of the rows, None where all are equal.
        """
        left, right = tree.children_left, tree.children_right
        is_leaf = left < 0
        number = np.cumsum(is_leaf) - 1
        children = np.where(is_leaf[:, None], ~number[:, None], np.column_stack((left, right)))
        # A single-precision value is at most a threshold if and only if it is at most the largest
        # single-precision number that is not above it.
        threshold = np.where(is_leaf, 0.0, tree.threshold).astype(np.float32)
        too_high = threshold > np.where(is_leaf, 0.0, tree.threshold)
        threshold[too_high] = np.nextafter(threshold[too_high], np.float32(-np.inf))
        n_leaves = int(is_leaf.sum())
        trees = cls(
            np.zeros(1, np.int32),
            children.astype(np.int32),
            np.where(is_leaf, 0, tree.feature).astype(np.int32),
            threshold,
            np.zeros(n_leaves + 1, np.int64),
            codes,
            np.zeros(0, np.float32),
        )
        leaf_of = trees.leaves_of(x)[0]
        order = np.argsort(leaf_of, kind="stable")
        trees.start[1:] = np.cumsum(np.bincount(leaf_of, minlength=n_leaves))
        own = trees.weights if weights is None else weights[order].astype(np.float32)
        return replace(trees, codes=codes[order], weights=own)

    @classmethod
    def joined(cls, trees: list[Self]) -> Self:
        """Return many trees in one set of arrays."""
        n_nodes = np.cumsum([0] + [len(tree.feature) for tree in trees])
        n_leaves = np.cumsum([0] + [len(tree.start) - 1 for tree in trees])
        n_rows = np.cumsum([0] + [len(tree.codes) for tree in trees])
        children = [
            np.where(tree.children < 0, tree.children - leaf, tree.children + node)
            for tree, node, leaf in zip(trees, n_nodes, n_leaves, strict=False)
        ]
        start = [tree.start[:-1] + rows for tree, rows in zip(trees, n_rows, strict=False)]
        return cls(
            n_nodes[:-1].astype(np.int32),
            np.concatenate(children).astype(np.int32),
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.append(np.concatenate(start), n_rows[-1]),
            np.concatenate([tree.codes for tree in trees]),
            np.concatenate([tree.weights for tree in trees]),
        )

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays in the order of the constructor."""
        return (
            self.root,
            self.children,
            self.feature,
            self.threshold,
            self.start,
            self.codes,
            self.weights,
        )

    def leaves_of(self, x: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the leaf of every row in each tree, of shape (n_trees, n)."""
        leaf_of = np.empty((len(self.root), len(x)), np.int32)
        walking, node = np.empty(len(x), np.int32), np.empty(len(x), np.int32)
        find_leaves(x, *self.arrays()[:4], walking, node, leaf_of)
        return leaf_of
