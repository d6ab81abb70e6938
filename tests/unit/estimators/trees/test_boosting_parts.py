"""The parts of boosting: derivatives, trees, rounds, residual quantiles."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numba import njit
from scipy.stats import norm
from sklearn.tree import DecisionTreeRegressor

from censquant._trees._bins import edges_of
from censquant._trees._boosting import (
    N_BINS,
    NO_CUT,
    BoostingRule,
    Newton,
    Rows,
    Trees,
    Work,
    add_tree,
    assign_bins,
    cross_fit_boosters,
    draw_rows,
    grow_tree,
    residual_quantiles,
    total_loss,
    write_derivatives,
    write_general_derivatives,
)
from censquant.survival import Target
from censquant.survival._target import GeneralTarget

INF = np.inf
RNG = np.random.default_rng(0)
RULE = BoostingRule(
    depth=3,
    min_leaf=10,
    fit_scale=True,
    rate=0.1,
    max_rounds=200,
    share=0.7,
    penalty=1.0,
    max_rows=10_000,
)


def one_row(z, event, location, log_scale, weight=1.0):
    codes = np.zeros((1, 1), np.uint8)
    rows = Rows.of(codes, Target(np.array([z]), np.array([event])), np.array([weight]))
    return rows, np.array([[location], [log_scale]]), np.zeros(1, np.int32)


def one_general_row(lower, upper, entry, location, log_scale):
    ends = [np.array([end]) for end in (lower, upper, entry)]
    target = GeneralTarget.of_rows(*ends, (ends[1] < INF).astype(np.int64))
    rows = Rows.of(np.zeros((1, 1), np.uint8), target, np.ones(1))
    return rows, np.array([[location], [log_scale]]), np.zeros(1, np.int32)


def derivatives(row, part, write=write_derivatives):
    slopes = np.empty((1, 2))
    write(*row, part, slopes)
    return slopes[0]


GENERAL = [
    *product([(-1.0, 0.4), (0.2, 0.3), (0.6, INF), (-INF, 0.3), (-1.5, 2.5), (0.5, 0.5)], [-INF]),
    *product([(0.2, 0.3), (0.6, INF), (-0.8, 0.3), (0.5, 0.5)], [-1.2, -0.9]),
]


@pytest.mark.parametrize(("ends", "entry"), GENERAL)
def test_derivatives_of_general_rows_are_those_of_the_loss(ends, entry):
    step = 1e-4
    for log_scale, part in product((-0.5, 0.0, 0.8), (0, 1)):
        shifted = []
        for sign in (-1, 0, 1):
            place = [0.1, log_scale]
            place[part] += sign * step
            shifted.append(total_loss(*one_general_row(*ends, entry, *place)))
        first = (shifted[2] - shifted[0]) / (2 * step)
        second = (shifted[2] - 2 * shifted[1] + shifted[0]) / step**2
        row = one_general_row(*ends, entry, 0.1, log_scale)
        slope, curvature = derivatives(row, part, write_general_derivatives)
        assert slope == pytest.approx(first, rel=1e-5, abs=1e-6)
        if ends[0] < ends[1]:
            least = 0.1 if part else (0.05 if entry > -INF else 1e-3) * np.exp(-2 * log_scale)
            assert curvature == pytest.approx(max(second, least), rel=1e-3)


def test_the_loss_of_general_rows_is_minus_their_log_likelihood():
    law = norm(0.1, np.exp(0.4))
    for (low, high), entry in GENERAL:
        inside = law.cdf(high) - law.cdf(low) if low < high else law.pdf(low)
        expected = -np.log(inside) + law.logsf(entry)
        assert total_loss(*one_general_row(low, high, entry, 0.1, 0.4)) == pytest.approx(expected)


def test_no_general_row_pulls_without_bounds():
    for ends, entry, part in product(
        [(-1e9, 1e9), (1e8, 1e9), (1e9, INF), (-INF, -1e9), (1e9, 1e9), (-9e8, -8e8)],
        (-INF, -1e9),
        (0, 1),
    ):
        row = one_general_row(*ends, entry, 0.0, 0.0)
        assert np.isfinite(total_loss(*row))
        slope, curvature = derivatives(row, part, write_general_derivatives)
        assert abs(slope) <= 48.0
        assert 0.0 < curvature <= 5_000.0


def test_an_event_soon_after_a_far_entry_says_little():
    slope, _ = derivatives(one_general_row(9.0, 9.0, 8.9, 0.0, 0.0), 0, write_general_derivatives)
    assert abs(slope) < 0.5


def test_derivatives_are_those_of_the_loss():
    location, step = 0.3, 1e-4
    distances, scales = [-3.5, -1.0, -0.1, 0.0, 0.7, 2.0, 3.5], [-1.0, 0.0, 0.8]
    for event, distance, log_scale, part in product((True, False), distances, scales, (0, 1)):
        z = location + distance * np.exp(log_scale)
        shifted = []
        for sign in (-1, 0, 1):
            place = [location, log_scale]
            place[part] += sign * step
            shifted.append(total_loss(*one_row(z, event, *place)))
        first = (shifted[2] - shifted[0]) / (2 * step)
        second = (shifted[2] - 2 * shifted[1] + shifted[0]) / step**2
        slope, curvature = derivatives(one_row(z, event, location, log_scale), part)
        assert slope == pytest.approx(first, rel=1e-5, abs=1e-6)
        if event:  # expected curvature: that of the location is also the observed one
            assert curvature == pytest.approx(2.0 if part else np.exp(-2 * log_scale))
        else:
            least = 0.1 if part else 1e-3 * np.exp(-2 * log_scale)
            assert curvature == pytest.approx(max(second, least), rel=1e-3)


def test_the_loss_is_minus_the_log_likelihood():
    for z in (-3.0, 0.2, 5.0):
        law = norm(0.4, 1.7)
        for event, expected in ((True, -law.logpdf(z)), (False, -law.logsf(z))):
            row = one_row(z, event, 0.4, np.log(1.7), weight=2.0)
            assert total_loss(*row) == pytest.approx(2.0 * expected, rel=1e-12)


def test_no_row_pulls_without_bounds():
    for event, z, part in product((True, False), (-1e9, 1e9), (0, 1)):
        assert np.isfinite(total_loss(*one_row(z, event, 0.0, -4.0)))
        slope, curvature = derivatives(one_row(z, event, 0.0, 0.0), part)
        assert abs(slope) <= 24.0
        assert 0.0 < curvature <= 240.0


def grown(x, slope, curvature, depth=3, penalty=0.0, min_leaf=5, rate=1.0):
    n, n_features = x.shape
    edges = edges_of(x, N_BINS)
    codes, n_leaves = assign_bins(x, edges), 2**depth
    tree = Trees(
        np.empty(n_leaves - 1, np.int32), np.empty(n_leaves - 1, np.uint8), np.empty(n_leaves)
    )
    slopes = np.column_stack((slope, curvature))
    work = Work.make(n, n, n_features, depth)._replace(slopes=slopes)
    work.order[:n] = np.arange(n)
    grow_tree(codes, n, Newton(1.0, penalty, min_leaf, np.array([rate])), 0, work, tree)
    out = np.zeros(n)
    add_tree(codes, tree, out)
    return out, tree


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_tree_is_that_of_scikit_learn_where_all_curvatures_are_equal(depth):
    # With curvature 1 and no penalty a Newton step is the mean, and the gain the variance.
    x = RNG.integers(0, 40, (600, 4)).astype(float)
    y = np.sin(x[:, 0]) + 0.02 * x[:, 1] * x[:, 2] + RNG.normal(size=600)
    reference = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5).fit(x, y)
    found, _ = grown(x, -y, np.ones(600), depth)
    np.testing.assert_allclose(found, reference.predict(x), atol=1e-10)


def test_a_value_in_the_middle_of_two_others_is_in_the_same_bin_in_every_unit():
    units = np.array([1.0, 1 / 7, 0.01, 365.25, 1000.0, 1 / 3])
    seen = np.array([20.0, 22.0, 31.0, 49.0, 51.0, 54.0])[:, None] * units
    middle = np.array([21.0, 26.5, 40.0, 50.0, 52.5])[:, None] * units
    codes = assign_bins(middle, edges_of(seen, N_BINS))
    assert (codes == np.arange(5)[:, None]).all()


def test_leaves_shrink_by_penalty_and_rate_and_weigh_by_curvature():
    x = np.repeat([[0.0], [1.0]], 10, axis=0)
    slope, curvature = RNG.normal(size=20) + 5.0 * x[:, 0], RNG.uniform(0.5, 2.0, 20)
    found, _ = grown(x, slope, curvature, depth=1, penalty=3.0, rate=0.2)
    for side in (slice(0, 10), slice(10, 20)):
        expected = -0.2 * slope[side].sum() / (curvature[side].sum() + 3.0)
        np.testing.assert_allclose(found[side], expected)


def test_no_leaf_has_fewer_rows_than_allowed():
    x = RNG.normal(size=(300, 3))
    found, (_, _, value) = grown(x, RNG.normal(size=300), np.ones(300), depth=5, min_leaf=40)
    counts = [(found == v).sum() for v in np.unique(value) if (found == v).any()]
    assert min(counts) >= 40
    assert len(counts) > 2


@pytest.mark.parametrize("n", [0, 1, 9])
def test_too_few_rows_are_not_split(n):
    x = RNG.normal(size=(max(n, 1), 2))[:n].reshape(n, 2)
    if n == 0:
        x = np.zeros((0, 2))
    found, (_, cut, _) = grown(x, np.ones(n), np.ones(n), min_leaf=5, penalty=1.0)
    assert (cut == NO_CUT).all()
    np.testing.assert_allclose(found, -n / (n + 1.0))


def test_rows_are_drawn_with_the_asked_probability_in_order():
    draw = njit(draw_rows)
    rows, drawn = np.arange(5, 20_005, dtype=np.int32), np.empty(20_001, np.int32)
    seed = np.array([7], np.uint64)
    first = drawn[: draw(rows, 0.7, seed, drawn)].copy()
    second = drawn[: draw(rows, 0.7, seed, drawn)].copy()
    for some in (first, second):
        assert len(some) == pytest.approx(14_000, abs=4 * np.sqrt(20_000 * 0.21))
        assert (np.diff(some) > 0).all()
    both = len(np.intersect1d(first, second))
    assert both == pytest.approx(9_800, abs=5 * np.sqrt(20_000 * 0.25))
    assert draw(rows, 1.0, seed, drawn) == 20_000


def table(n=3_000, seed=0):
    """Normal rows whose location and scale depend on features, under censoring at random."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    location, log_scale = 1.5 * x[:, 0], 0.8 * x[:, 1] - 0.5
    z = location + np.exp(log_scale) * rng.normal(size=n)
    end = rng.normal(1.0, 1.5, n)
    return x, np.minimum(z, end), z <= end, np.ones(n), location, log_scale


def folds(n, k=3):
    return np.arange(n) % k


def test_boosters_find_location_and_scale():
    x, z, event, weight, location, log_scale = table()
    boosters, held_out = cross_fit_boosters(
        RULE, x, Target(z, event), weight, folds(len(z)), [1, 2, 3], n_jobs=None
    )
    for found in (held_out, boosters.predict(x)):
        assert np.sqrt(np.mean((found[0] - location) ** 2)) < 0.15
        assert np.sqrt(np.mean((found[1] - log_scale) ** 2)) < 0.2


def test_what_is_held_out_is_said_by_the_booster_that_has_not_seen_it():
    x, z, event, weight, *_ = table(400)
    fold_of = folds(400)
    boosters, held_out = cross_fit_boosters(
        RULE, x, Target(z, event), weight, fold_of, [1, 2, 3], None
    )
    for fold in range(3):
        alone = type(boosters)(
            boosters.edges,
            *(part[fold : fold + 1] for part in list(vars(boosters).values())[1:]),
        )
        own = fold_of == fold
        np.testing.assert_allclose(alone.predict(x[own]), held_out[:, own], atol=1e-12)
    # Other times in a fold change nothing of its own booster but the common number of rounds.
    moved = np.where(fold_of == 0, z + 0.01, z)
    others, _ = cross_fit_boosters(RULE, x, Target(moved, event), weight, fold_of, [1, 2, 3], None)
    rounds = min(boosters.value.shape[1], others.value.shape[1])
    assert rounds > 0
    np.testing.assert_array_equal(boosters.value[0, :rounds], others.value[0, :rounds])
    assert (boosters.value[1, :rounds] != others.value[1, :rounds]).any()


def test_a_booster_is_trained_and_judged_on_no_more_rows_than_it_may_be():
    x, z, event, weight, location, _ = table(3_000)
    fold_of, rule = folds(3_000), replace(RULE, max_rows=800)
    boosters, held_out = cross_fit_boosters(
        rule, x, Target(z, event), weight, fold_of, [1, 2, 3], None
    )
    judged = ~np.isnan(held_out[0])
    assert [judged[fold_of == fold].sum() for fold in range(3)] == [200, 200, 200]
    assert np.sqrt(np.mean((held_out[0] - location)[judged] ** 2)) < 0.25
    # Rows that nobody was trained on or judged by change nothing: fold 2 begins at row 1600 of its
    # 2,000, and takes the first 400 as well.
    used = set(np.flatnonzero(judged).tolist())
    for fold in range(3):
        train = np.flatnonzero(fold_of != fold)
        used |= set(np.roll(train, -(fold * 800))[:800].tolist())
    spare = np.array(sorted(set(range(3_000)) - used))
    assert len(spare) > 100
    moved = z.copy()
    moved[spare] += 100.0
    again, _ = cross_fit_boosters(rule, x, Target(moved, event), weight, fold_of, [1, 2, 3], None)
    np.testing.assert_array_equal(again.value, boosters.value)


def test_noise_is_not_learned():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(300, 5)), rng.normal(size=300)
    boosters, held_out = cross_fit_boosters(
        RULE, x, Target(z, np.ones(300, bool)), np.ones(300), folds(300), [1, 2, 3], None
    )
    assert boosters.value.shape[1] <= 20
    assert np.abs(held_out).max() < 0.6


def test_without_a_scale_all_scales_are_one():
    x, z, event, weight, *_ = table(300)
    rule = BoostingRule(**{**vars(RULE), "fit_scale": False})
    boosters, held_out = cross_fit_boosters(
        rule, x, Target(z, event), weight, folds(300), [1, 2, 3], None
    )
    assert boosters.value.shape[2] == 1
    assert not held_out[1].any()


def test_residual_quantiles_are_those_of_the_law_behind_censored_rows():
    rng = np.random.default_rng(0)
    value, end = rng.gumbel(size=20_000), rng.normal(1.5, 1.0, 20_000)
    levels = np.array([0.05, 0.25, 0.5, 0.75])
    found = residual_quantiles(
        Target(np.minimum(value, end), value <= end), np.ones(20_000), levels
    )
    np.testing.assert_allclose(found, -np.log(-np.log(levels)), atol=0.05)


def test_above_the_end_of_the_curve_residuals_are_normal():
    rng = np.random.default_rng(0)
    value = rng.normal(size=20_000)
    levels = np.array([0.3, 0.6, 0.7, 0.9, 0.99, 0.999])
    found = residual_quantiles(
        Target(np.minimum(value, 0.2), value <= 0.2), np.ones(20_000), levels
    )
    np.testing.assert_allclose(found, norm.ppf(levels), atol=0.05)
    assert (np.diff(found) > 0).all()


def test_whole_weights_of_residuals_are_repeated_rows():
    rng = np.random.default_rng(1)
    residual, event = rng.normal(size=50), rng.random(50) < 0.7
    weight, levels = rng.integers(1, 4, 50), np.array([0.1, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(
        residual_quantiles(Target(residual, event), weight.astype(float), levels),
        residual_quantiles(
            Target(np.repeat(residual, weight), np.repeat(event, weight)),
            np.ones(weight.sum()),
            levels,
        ),
        rtol=1e-9,
    )


def test_residuals_of_general_rows_are_those_of_the_law_behind_them():
    rng = np.random.default_rng(4)
    value, entry = rng.gumbel(size=30_000), rng.normal(-0.5, 1.0, 30_000)
    seen = value > entry
    value, entry = value[seen], entry[seen]
    lower = np.maximum(np.floor(2 * value) / 2, entry)
    upper = np.where(value < 2.0, np.floor(2 * value) / 2 + 0.5, INF)
    lower = np.where(np.isinf(upper), np.maximum(2.0, entry), lower)
    exact = (rng.random(len(value)) < 0.3) & np.isfinite(upper)
    lower, upper = np.where(exact, value, lower), np.where(exact, value, upper)
    rows = GeneralTarget.of_rows(lower, upper, entry, np.isfinite(upper).astype(np.int64))
    levels = np.array([0.1, 0.25, 0.5, 0.75])
    found = residual_quantiles(rows, np.ones(len(value)), levels)
    np.testing.assert_allclose(found, -np.log(-np.log(levels)), atol=0.05)
