"""Hypothesis strategies for survival data and for what the losses see."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


@st.composite
def survival_data(draw, *, min_size=1, max_size=30, min_events=0, n_times=8):
    """Times and events of a few rows; times come from a short list, so that many tie."""
    size = draw(st.integers(min_size, max_size))
    time = draw(st.lists(st.integers(1, n_times), min_size=size, max_size=size))
    event = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    event[:min_events] = [True] * min_events
    unit = draw(st.sampled_from([1.0, 0.1, 365.25]))
    return unit * np.array(time, dtype=float), np.array(event, dtype=bool)


@st.composite
def repetitions(draw, size):
    """Whole weights of rows, with a zero here and there but never zeros alone."""
    counts = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    counts[draw(st.integers(0, size - 1))] = 2
    return np.array(counts)


class LossRows(NamedTuple):
    """What a loss kernel takes, all of one floating type."""

    predicted: np.ndarray
    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray
    level: np.ndarray
    taus: np.ndarray


@st.composite
def loss_rows(draw, *, dtype=np.float64, max_rows=5, max_levels=5):
    """Rows for a loss kernel, crossed or not, with a level here and there given.

    Every number is a small multiple of a power of two, so that ties happen and are ties in float32
    as well: the losses jump there, and rounding must not decide on which side a row lies.
    """
    n_rows = draw(st.integers(1, max_rows))
    n_levels = draw(st.integers(1, max_levels))

    def column(low, high, unit, size=n_rows):
        numbers = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(numbers, dtype=dtype) * dtype(unit)

    predicted = column(-16, 16, 0.25, n_rows * n_levels).reshape(n_rows, n_levels)
    if draw(st.booleans()):
        predicted.sort(axis=1)
    taus = draw(st.lists(st.integers(1, 31), min_size=n_levels, max_size=n_levels, unique=True))
    return LossRows(
        predicted=predicted,
        time=column(-16, 16, 0.25),
        event=np.array(draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))),
        weight=column(0, 4, 0.5),
        level=column(-31, 31, 1 / 32),
        taus=np.sort(np.array(taus, dtype=dtype)) * dtype(1 / 32),
    )


class LikelihoodRows(NamedTuple):
    """What a likelihood kernel takes, all of one floating type."""

    output: np.ndarray
    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray


@st.composite
def likelihood_rows(draw, n_outputs, *, dtype=np.float64, max_rows=5):
    """Rows for a likelihood kernel, with parameters of a usual size."""
    n_rows = draw(st.integers(1, max_rows))

    def column(low, high, unit, size=n_rows):
        numbers = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(numbers, dtype=dtype) * dtype(unit)

    return LikelihoodRows(
        output=column(-12, 12, 0.125, n_rows * n_outputs).reshape(n_rows, n_outputs),
        time=column(-16, 16, 0.25),
        event=np.array(draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))),
        weight=column(0, 4, 0.5),
    )


class ShapeRows(NamedTuple):
    """What the shape loss takes of rows, all of one floating type."""

    predicted: np.ndarray
    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray


@st.composite
def shape_rows(draw, n_levels, *, dtype=np.float64, max_rows=4):
    """Rows with increasing quantiles.

    Times lie an odd multiple of 1/64 off a grid that quantiles lie on: the loss has kinks where a
    time meets a quantile or the middle of two, and rounding must not decide on which side it lies.
    """
    n_rows = draw(st.integers(1, max_rows))

    def numbers(low, high, size):
        return np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size)))

    gaps = numbers(1, 8, n_rows * n_levels).reshape(n_rows, n_levels) / 4
    start = numbers(-24, 8, n_rows)[:, None] / 4
    return ShapeRows(
        predicted=(start + np.cumsum(gaps, axis=1)).astype(dtype),
        time=(numbers(-24, 24, n_rows) / 4 + 1 / 64).astype(dtype),
        event=np.array(draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))),
        weight=(numbers(0, 4, n_rows) / 2).astype(dtype),
    )
