"""SurvivalEVAL as an oracle; where it differs, the cause is computed and added.

Four things differ: the area under Kaplan-Meier, which it takes under straight lines between the
steps; the weights of a hinge; the number that weighted events are divided by; and what happens past
the last training row.
"""

from itertools import pairwise

import numpy as np
import pytest

from censquant.exceptions import TruncationWarning
from censquant.metrics import d_calibration, mean_absolute_error_censored
from censquant.quantiles import QuantileCurve
from oracles import loop_censoring_kaplan_meier, loop_kaplan_meier, step_value

TAUS = np.arange(1, 20) / 20
close = {"rel": 0, "abs": 1e-6}


def draw(seed, end, n, rounded):
    """Exponential times of mean 1 that a uniform end of follow-up censors; rounding makes ties."""
    rng = np.random.default_rng(seed)
    latent, censoring = rng.exponential(size=n), rng.uniform(0, end, size=n)
    time, event = np.minimum(latent, censoring), latent <= censoring
    return (np.ceil(8 * time) / 8 if rounded else time), event


# Follow-up up to 3.2, 1.6 and 0.45 censors some 30, 50 and 80 % of the rows. In the last sample the
# rows to judge were followed for longer than any training row.
@pytest.fixture(
    params=[
        *((end, end, rounded) for end in (3.2, 1.6, 0.45) for rounded in (False, True)),
        (3.2, 1.0, False),
    ],
    ids=lambda given: f"end={given[0]}-{given[1]}-{'tied' if given[2] else 'distinct'}",
)
def rows(request):
    """Rows to judge, their predictions, and other rows whose curves are used."""
    end, train_end, rounded = request.param
    y, train = draw(1, end, 90, rounded), draw(2, train_end, 120, rounded)
    return y, np.random.default_rng(3).uniform(0, 2.5, size=90), train


def ours(rows, method, **options):
    y, predicted, train = rows
    return mean_absolute_error_censored(y, predicted, method=method, y_train=train, **options)


def theirs(rows, method, **options):
    # Imported late: it loads lifelines and matplotlib, which no other test of a metric needs.
    from SurvivalEVAL.evaluations.prediction_error.mean_error import mean_error

    (time, event), predicted, train = rows
    return mean_error(predicted, time, event, *train, method=method, **options)


def tail_value(steps, t):
    """Value at t of a step curve that goes on straight from (0, 1) through its last point."""
    last, height = steps[0][-1], steps[1][-1]
    return step_value(*steps, t) if t <= last else max(0.0, 1 - (1 - height) * t / last)


def confidence(rows):
    """Weights of the rows: 1 for events, the share that had one by then for censored rows."""
    steps = loop_kaplan_meier(*rows[2])
    return np.array([1.0 if e else 1 - tail_value(steps, t) for t, e in zip(*rows[0], strict=True)])


def between_steps_and_lines(knots, heights, start=0.0):
    """Area from a start on between a step curve and the straight lines through its knots."""
    points = [(0.0, 1.0), *zip(knots, heights, strict=True)]
    return sum(
        (right - max(left, start)) * (high - low) / 2
        for (left, high), (right, low) in pairwise(points)
        if right > start
    )


def margin_gap(c, train):
    """What the lines take from the mean of the event times after c: all times are knots."""
    steps = loop_kaplan_meier(*train)
    if c > steps[0][-1]:
        return 0.0
    return between_steps_and_lines(*steps, c) / step_value(*steps, c)


def mean_life(time, event, area):
    """Area under the curve, less the triangles if so asked, with the straight tail."""
    steps = loop_kaplan_meier(time, event)
    drops = np.isin(steps[0], time[event])
    points = [(0.0, 1.0), *zip(*steps, strict=True)]
    total = sum((right - left) * height for (left, height), (right, _) in pairwise(points))
    if area == "lines":
        # The times of events are the knots here.
        total -= between_steps_and_lines(steps[0][drops], steps[1][drops])
    last, height = points[-1]
    return total + height * (last / (1 - height) - last) / 2


def pseudo_gap(c, train):
    """What theirs takes from a pseudo-observation, or adds to it past the training rows.

    There theirs lets the row hold up the whole curve by itself, up to its own time, and multiplies
    the rise by the number of rows. The training rows know nothing of those times, so ours has it
    join them as censored at the last of theirs, with its own time as the least.
    """
    time, event = train
    n, last = len(time), time.max()

    def share(at, area):
        joined = np.append(time, at), np.append(event, False)
        return (n + 1) * mean_life(*joined, area) - n * mean_life(*train, area)

    own = share(min(c, last), "steps")
    return (max(own, c) if c > last else own) - share(c, "lines")


def with_lines(rows, method, gap):
    """Our error, had the surrogates of the censored rows been taken under straight lines."""
    (time, event), predicted, train = rows
    weight = confidence(rows)
    change = 0.0
    for i in np.flatnonzero(~event & (weight > 0)):
        # The error of a row by itself gives its surrogate away.
        alone = ([time[i]], [False]), [-100.0], train
        surrogate = ours(alone, method) - 100.0
        less = surrogate - gap(time[i], train)
        change += weight[i] * (abs(less - predicted[i]) - abs(surrogate - predicted[i]))
    return ours(rows, method) + change / weight.sum()


def test_errors_of_events_are_the_same(rows):
    assert ours(rows, "uncensored") == pytest.approx(theirs(rows, "Uncensored"), **close)


def test_hinge_errors_are_the_same(rows):
    """As Haider et al. define it, every row counts as one."""
    assert ours(rows, "hinge") == pytest.approx(theirs(rows, "Hinge", weighted=False), **close)


def test_weights_by_confidence_make_the_default_hinge_of_theirs(rows):
    """Their default weights a censored row by 1 - S(c), as if its error were a guess."""
    got = ours(rows, "hinge", sample_weight=confidence(rows))
    assert got == pytest.approx(theirs(rows, "Hinge"), **close)
    assert abs(ours(rows, "hinge") - got) > 1e-3


@pytest.mark.parametrize(
    ("method", "their_name", "gap"),
    [("margin", "Margin", margin_gap), ("pseudo-observation", "Pseudo_obs", pseudo_gap)],
)
def test_surrogates_differ_by_the_area_between_steps_and_lines(rows, method, their_name, gap):
    """Both integrate Kaplan-Meier with one straight tail; theirs joins its steps by lines.

    The estimate is a step function, and its definition asks for the area under the steps. Lines
    lie below them, so that the mean life is shorter; the more so the fewer training rows. Of rows
    past the training rows `pseudo_gap` tells.
    """
    y, predicted, train = rows
    at_once = y, np.zeros_like(predicted), train
    for case in (rows, at_once):
        expected = theirs(case, their_name)
        assert with_lines(case, method, gap) == pytest.approx(expected, **close)
    # Against a prediction that is always too early the differences do not cancel.
    assert abs(theirs(at_once, their_name) - ours(at_once, method)) > 1e-4


def test_the_mean_life_of_few_rows_by_steps_and_by_lines():
    # Events at 1 and 3: the steps hold 1 + 2/2, the lines 3/4 + 2/4.
    train = np.array([1.0, 3.0]), np.array([True, True])
    rows = (np.array([1.0, 1.0]), np.array([False, True])), np.array([0.0, 1.0]), train
    assert ours(rows, "margin") * 1.5 == pytest.approx(0.5 * (1 + 2))
    assert theirs(rows, "Margin") * 1.5 == pytest.approx(0.5 * (1 + 1))


def test_censored_rows_that_count_fully_are_a_matter_of_weights(rows):
    """Their unweighted margin is ours with the confidence divided out."""
    weight = confidence(rows)
    (time, event), predicted, train = rows
    known = weight > 0
    kept = (time[known], event[known]), predicted[known], train
    plain = ours(kept, "margin", sample_weight=1 / weight[known])
    change = 0.0
    for c, guess in zip(kept[0][0][~kept[0][1]], kept[1][~kept[0][1]], strict=True):
        surrogate = ours((([c], [False]), [-100.0], train), "margin") - 100.0
        change += abs(surrogate - margin_gap(c, train) - guess) - abs(surrogate - guess)
    expected = theirs(kept, "Margin", weighted=False)
    assert plain + change / known.sum() == pytest.approx(expected, **close)


def chances(time, train):
    """Chance of not being censored before each time."""
    steps = loop_censoring_kaplan_meier(*train)
    return np.array([step_value(*steps, t, before=True) for t in time])


def test_weighted_events_differ_by_what_they_are_divided_by(rows):
    """Theirs divides by the number of events, which the weights add up to only by chance.

    Weighted events stand for all rows, so the sum of the weights has to be divided by: without it
    the score of a constant error is not that error.
    """
    (time, event), predicted, train = rows
    # Past the training rows the curves go on differently: the next test.
    within = time <= train[0].max()
    rows = (time[within], event[within]), predicted[within], train
    inverse = 1 / chances(time[within & event], train)
    assert inverse.max() < 50
    expected = theirs(rows, "IPCW-D") * inverse.size / inverse.sum()
    assert ours(rows, "ipcw") == pytest.approx(expected, **close)


def test_weighted_events_past_the_training_rows_do_not_count():
    """Theirs lets the censoring curve fall on along a straight line, which no row supports."""
    time, event = draw(1, 3.2, 90, False)
    end, train_event = draw(2, 3.2, 120, False)
    # The last training rows have events, so that the censoring curve stays above zero.
    train_event, end = train_event | (end > 1), np.minimum(end, 1)
    steps = loop_censoring_kaplan_meier(end, train_event)
    line = np.array([tail_value(steps, t) for t in time])
    # Where that line has reached zero theirs has no value.
    kept = event & (line > 0)
    within = time[kept] <= end.max()
    assert 0 < within.sum() < kept.sum()
    rows = (time[kept], event[kept]), np.ones(kept.sum()), (end, train_event)
    error, chance = np.abs(time[kept] - 1), chances(time[kept], rows[2])
    expected = np.average(error[within], weights=1 / chance[within])
    with pytest.warns(TruncationWarning):
        assert ours(rows, "ipcw") == pytest.approx(expected, **close)
    fallen = np.where(within, chance, line[kept])
    assert theirs(rows, "IPCW-D") == pytest.approx(np.mean(error / fallen), **close)


def their_d_calibration(survival, event, n_bins):
    from SurvivalEVAL.evaluations.calibration.distributional import d_calibration

    return d_calibration(survival, event, n_bins)


@pytest.mark.parametrize("n_bins", [4, 10, 20])
def test_d_calibration_is_the_same(rows, n_bins):
    y, medians, _ = rows
    predicted = -np.log1p(-TAUS) * (0.5 + medians[:, None])
    survival = 1 - QuantileCurve(predicted, TAUS).cdf(y[0])
    statistic, p_value, counts = their_d_calibration(survival, y[1], n_bins)
    got = d_calibration(y, predicted, TAUS, n_bins=n_bins)
    np.testing.assert_allclose(90 * got.shares, counts, rtol=0, atol=1e-6)
    assert got.statistic == pytest.approx(statistic, **close)
    assert got.p_value == pytest.approx(p_value, **close)


def test_d_calibration_is_the_same_where_times_are_the_ends_of_bins():
    # Quarters are exact, so that no rounding decides which bin such an event is in.
    levels = np.array([0.0, 0.25, 0.25, 0.5, 0.75, 0.5, 0.25, 0.0])
    event = np.array([1, 1, 0, 1, 1, 0, 1, 0], dtype=bool)
    got = d_calibration((levels, event), [[0.25, 0.5, 0.75]] * 8, [0.25, 0.5, 0.75], n_bins=4)
    statistic, p_value, counts = their_d_calibration(1 - levels, event, 4)
    np.testing.assert_allclose(8 * got.shares, counts, rtol=0, atol=1e-6)
    assert got.statistic == pytest.approx(statistic, **close)
    assert got.p_value == pytest.approx(p_value, **close)
