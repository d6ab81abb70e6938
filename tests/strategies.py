"""Hypothesis strategies for survival data."""

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
