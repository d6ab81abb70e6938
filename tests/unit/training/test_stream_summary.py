import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.training import _shards as _summary
from censquant._engine.training._shards import StreamSummary


def summary_of(x, time, event, weight, n_parts, seed=0):
    summary = StreamSummary(x.shape[1])
    for part in np.array_split(np.arange(len(x)), n_parts):
        summary.add(
            x[part], time[part], event[part], weight[part], np.random.default_rng([seed, part[0]])
        )
    return summary


def columns(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(1e4, [1.0, 50.0, 0.001], size=(n, 3))
    return x, rng.exponential(size=n) - 0.2, rng.uniform(size=n) < 0.5, rng.uniform(0.1, 3, n)


@given(n=st.integers(1, 60), n_parts=st.integers(1, 7), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_moments_and_ranges_do_not_depend_on_the_parts(n, n_parts, seed):
    x, time, event, weight = columns(n, seed)
    found = summary_of(x, time, event, weight, min(n, n_parts))
    np.testing.assert_allclose(
        found.moments.mean, np.average(x, axis=0, weights=weight), rtol=1e-12
    )
    variance = np.average((x - found.moments.mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(found.moments.variance, variance, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(found.moments.low, x.min(axis=0))
    np.testing.assert_array_equal(found.moments.high, x.max(axis=0))
    assert (found.n_rows, found.n_events) == (n, event.sum())


def test_few_rows_are_all_in_the_sample():
    x, time, event, weight = columns(500)
    target, weights = summary_of(x, time, event, weight, 4).target()
    order, expected = np.argsort(target.time), np.argsort(time)
    np.testing.assert_array_equal(target.time[order], time[expected])
    np.testing.assert_array_equal(target.event[order], event[expected])
    np.testing.assert_allclose(weights[order], (weight / weight.mean())[expected])


def test_of_many_rows_a_uniform_sample_with_the_ends_of_time_is_kept(monkeypatch):
    monkeypatch.setattr(_summary, "_SAMPLE_ROWS", 400)
    x, time, event, weight = columns(20_000)
    time.sort()
    target, _ = summary_of(x, time, event, weight, 50).target()
    assert 400 <= len(target) <= 405
    assert (target.time.min(), target.time.max()) == (time[0], time[-1])
    assert target.time[target.event].min() == time[event].min()
    assert target.time[target.time > 0].min() == time[time > 0].min()
    spread = time.std() / np.sqrt(400)
    assert abs(target.time.mean() - time.mean()) < 4 * spread
    assert target.event.mean() == pytest.approx(event.mean(), abs=0.1)


def test_a_state_resumes_where_it_was():
    x, time, event, weight = columns(300)
    whole, half = StreamSummary(3), StreamSummary(3)
    for place, part in enumerate((slice(0, 200), slice(200, 300))):
        for summary in (whole, half):
            rng = np.random.default_rng(place)
            summary.add(x[part], time[part], event[part], weight[part], rng)
        half = StreamSummary.from_state(half.state())
    for name, array in whole.state().items():
        np.testing.assert_array_equal(half.state()[name], array)
