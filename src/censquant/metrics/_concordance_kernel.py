"""Compiled count of the concordant pairs."""

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled


@compiled
def pair_weights(
    rank: NDArray[np.intp],
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    lead: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_ranks: int,
) -> tuple[float, float, float]:
    """Weight of the concordant pairs, of those tied in rank, and of all comparable ones.

    A pair weighs ``lead`` of the row whose event comes first times ``weight`` of its partner.
    Rows come by falling time, and censored before events at a tie. So the partners of an event
    are exactly the rows that a single pass has met before it, less the events of its own time. A
    Fenwick tree over the ranks adds a row and sums the ranks above one in log(n) steps.
    """
    tree = np.zeros(n_ranks + 1)
    at_rank = np.zeros(n_ranks)
    concordant = tied = comparable = met = 0.0
    waiting = 0
    for row in range(rank.size):
        while waiting < row and (time[waiting] > time[row] or not event[waiting]):
            at_rank[rank[waiting]] += weight[waiting]
            met += weight[waiting]
            # Nodes run from the highest rank down, so that a prefix holds the ranks above one.
            node = n_ranks - rank[waiting]
            while node <= n_ranks:
                tree[node] += weight[waiting]
                node += node & -node
            waiting += 1
        if event[row]:
            above = 0.0
            node = n_ranks - rank[row] - 1
            while node > 0:
                above += tree[node]
                node -= node & -node
            concordant += lead[row] * above
            tied += lead[row] * at_rank[rank[row]]
            comparable += lead[row] * met
    return concordant, tied, comparable
