"""Colours of the figures, told apart by every kind of colour vision."""

WIDE, NARROW, MEDIAN = "#a6cde3", "#4b93c3", "#08306b"
"""The bands that hold 80 % and 50 % of the events, and the line of the median."""

OBSERVED = "#d55e00"
"""Vermilion stands out from blue for every kind of colour vision."""

PALE, HATCH = "#f3f8fb", "/////"
"""Of what lies beyond the data."""

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Groups, methods and terms, in this order."""

PALEST = 0.87
"""Where viridis ends: what follows is too pale for a line on white."""


def series_color(place: int) -> str:
    """Return the colour of the group, method or term at a place."""
    return SERIES[place % len(SERIES)]
