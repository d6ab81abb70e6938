"""Compiled integral of an expected chance; a file of its own, since loading it loads numba."""

from typing import Any

from censquant._compile import exact


@exact
def write_compensators(
    until: Any, beyond: Any, widths: Any, slopes: Any, least: float, edges: Any, sums: Any, out: Any
) -> None:
    """Write the integral of 1 - beyond * slope over the area from 0 to ``until``, shape (n, k).

    The slope is a step function of the area, with steps of shape (n, pieces), whose widths may be
    the same for all rows, shape (1, pieces). ``edges`` and ``sums`` have room for all
    edges of the pieces.
    """
    n_pieces = widths.shape[1]
    for i in range(until.shape[0]):
        width = widths[i if len(widths) > 1 else 0]
        edges[0] = sums[0] = 0.0
        for p in range(n_pieces):
            edges[p + 1] = edges[p] + width[p]
            sums[p + 1] = sums[p] + width[p] * slopes[i, p]
        for k in range(until.shape[1]):
            end = until[i, k]
            left, right = 0, n_pieces - 1  # the first piece that ends at the area or after it
            while left < right:
                middle = (left + right) // 2
                if edges[middle + 1] < end:
                    left = middle + 1
                else:
                    right = middle
            # A piece may be centred past the limit, where the chance is 0 and not negative.
            slope = min(slopes[i, left], 1.0 / max(beyond[i, k], least))
            out[i, k] = end - beyond[i, k] * (sums[left] + (end - edges[left]) * slope)
