"""Outputs that stay within bounds, and rows whose pull on them is limited."""

import math

from censquant._compile import exact


@exact
def bound_outputs(output, limits, values, slopes):
    r"""Write outputs that are left alone inside an interval and approach limits outside of it.

    Between ``low`` and ``high`` a value is the output itself. An output that exceeds ``high`` by
    :math:`d` becomes :math:`\mathrm{high} + 1 / (1 / r + 1 / d)` with the room
    :math:`r = \mathrm{highest} - \mathrm{high}`, and likewise below: smooth, increasing, and never
    beyond the limit, whatever the output. The slope decreases as a power of the excess, so that
    training can bring an output back.

    Parameters
    ----------
    output : array of shape (n, k)
    limits : float64 array of shape (k, 4)
        ``lowest <= low <= high <= highest`` of each output.
    values : array of shape (n, k)
        Receives the bounded values.
    slopes : array of shape (n, k)
        Receives their derivatives by ``output``.
    """
    for i in range(output.shape[0]):
        for j in range(output.shape[1]):
            raw = float(output[i, j])
            lowest, low, high, highest = limits[j, 0], limits[j, 1], limits[j, 2], limits[j, 3]
            if raw > high:
                values[i, j] = high + 1.0 / (1.0 / (highest - high) + 1.0 / (raw - high))
                slopes[i, j] = (1.0 + (raw - high) / (highest - high)) ** -2
            elif raw < low:
                values[i, j] = low - 1.0 / (1.0 / (low - lowest) + 1.0 / (low - raw))
                slopes[i, j] = (1.0 + (low - raw) / (low - lowest)) ** -2
            else:
                values[i, j] = raw
                slopes[i, j] = 1.0


@exact
def limit_rows(gradient, slopes, weight, longest):
    """Multiply a gradient by slopes and shorten the rows of it that are too long, in place.

    An event that a model took for impossible has a likelihood gradient many orders of magnitude
    above the others'. Adam divides by a mean of squares that remembers it for thousands of steps,
    in which the other rows teach nothing. A row that is too long keeps its direction.

    Parameters
    ----------
    gradient : array of shape (n, k)
        Derivative of a mean over rows by the bounded values; changed in place.
    slopes : array of shape (n, k)
        Derivatives of the bounded values by the outputs.
    weight : array of shape (n,)
        Row weights, which the limit is proportional to.
    longest : float
        Largest Euclidean length of the gradient of one row of weight 1, before the mean divides it
        by ``n``.
    """
    n, width = gradient.shape
    for i in range(n):
        square = 0.0
        for j in range(width):
            part = float(gradient[i, j]) * float(slopes[i, j])
            gradient[i, j] = part
            square += part * part
        most = longest * weight[i] / n
        if square > most * most:
            shortened = most / math.sqrt(square)
            for j in range(width):
                gradient[i, j] *= shortened
