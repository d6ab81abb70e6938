"""Compiled count of the concordant pairs, in many draws at once."""

from typing import Any

import numpy as np

from censquant._compile import compiled


@compiled
def pair_weights(
    order: Any,
    rank: Any,
    time: Any,
    event: Any,
    lead: Any,
    weight: Any,
    tree: Any,
    at_rank: Any,
    found: Any,
) -> None:
    """Write the weight of the pairs in order and of all comparable ones, for each draw.

    A pair weighs ``lead`` of the row whose event comes first times ``weight`` of its partner, and
    one half of it is in order where both have the same rank. Both weights are of shape
    ``(n_rows, n_draws)``, and ``found`` of shape ``(2, n_draws)`` is overwritten.

    ``rank``, ``time`` and ``event`` are those of the rows in ``order`` of falling time, censored
    before events at a tie. So the partners of an event are exactly the rows that a single pass has
    met before it, less the events of its own time. A Fenwick tree over the ranks adds a row and
    sums the ranks above one in log(n) steps.
    Each of its nodes holds a sum for each of some draws side by side: ``tree`` of shape
    ``(n_ranks + 1, n_together)`` is the room for it, and ``at_rank`` of shape
    ``(n_ranks, n_together)`` that for the rows of each rank, with no row where no rank is shared.
    """
    n_rows, n_draws = weight.shape
    n_ranks, has_ties = len(tree) - 1, len(at_rank) > 0
    above, met = np.empty(tree.shape[1]), np.empty(tree.shape[1])
    for start in range(0, n_draws, tree.shape[1]):
        width = min(tree.shape[1], n_draws - start)
        tree[:] = 0.0
        at_rank[:] = 0.0
        met[:] = 0.0
        found[:, start : start + width] = 0.0
        waiting = 0
        for place in range(n_rows):
            while waiting < place and (time[waiting] > time[place] or not event[waiting]):
                own = weight[order[waiting], start : start + width]
                for d in range(width):
                    met[d] += own[d]
                if has_ties:
                    same = at_rank[rank[waiting]]
                    for d in range(width):
                        same[d] += own[d]
                # Nodes run from the highest rank down, so that a prefix holds the ranks above one.
                node = n_ranks - rank[waiting]
                while node <= n_ranks:
                    part = tree[node]
                    for d in range(width):
                        part[d] += own[d]
                    node += node & -node
                waiting += 1
            if event[place]:
                above[:] = 0.0
                if has_ties:
                    same = at_rank[rank[place]]
                    for d in range(width):
                        above[d] += 0.5 * same[d]
                node = n_ranks - rank[place] - 1
                while node > 0:
                    part = tree[node]
                    for d in range(width):
                        above[d] += part[d]
                    node -= node & -node
                own = lead[order[place], start : start + width]
                for d in range(width):
                    found[0, start + d] += own[d] * above[d]
                    found[1, start + d] += own[d] * met[d]
