import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from censquant._engine.losses._grid import LEVEL_RULES, MarginalPinball
from censquant._engine.objectives._grid import GridObjective, Pinball, Portnoy
from censquant._engine.training._rows import Rows
from oracles import slow_crossing_penalty, slow_pinball, slow_portnoy
from toys import TAUS, censored_rows

LEVELS = np.array(TAUS, dtype=np.float32)
OBJECTIVES = [Pinball(TAUS), Portnoy(TAUS, y_star=3.0)]


@pytest.fixture
def rows():
    rows = censored_rows(12)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=12)
    level = np.where(np.arange(12) % 4 == 0, 0.3, -1.0)
    return Rows.from_arrays(rows.x, time=rows.time, event=rows.event, weight=weight, level=level)


@pytest.fixture
def output():
    return np.random.default_rng(2).normal(1.0, 0.5, size=(12, 3)).astype(np.float32)


def gradient_of(objective, output, rows):
    out = np.full_like(output, np.nan)
    return objective.gradient(output, rows, out), out


def test_pinball_takes_every_time_as_seen(output, rows):
    loss, gradient = gradient_of(Pinball(TAUS), output, rows)
    expected_loss, expected = slow_pinball(output, rows.time, rows.weight, LEVELS)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    assert Pinball(TAUS).validation_loss(output, rows) == loss


@pytest.mark.parametrize("rule", LEVEL_RULES)
@pytest.mark.parametrize(
    ("options", "limit", "one_sided"),
    [({"y_star": 2.0}, 2.0, False), ({"cap": 1.2}, 1.2, True), ({}, 1e30, True)],
)
@pytest.mark.parametrize("weight_below", [0.0, 1.0])
def test_portnoy_passes_its_options_on(output, rows, rule, options, limit, one_sided, weight_below):
    objective = Portnoy(TAUS, level_rule=rule, weight_below=weight_below, **options)
    loss, gradient = gradient_of(objective, output, rows)
    expected_loss, expected = slow_portnoy(
        output,
        rows.time,
        rows.event,
        rows.weight,
        rows.level,
        LEVELS,
        rule=rule,
        weight_below=weight_below,
        limit=limit,
        one_sided=one_sided,
    )
    assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_portnoy_adds_the_crossing_penalty_when_asked(output, rows):
    plain_loss, plain = gradient_of(Portnoy(TAUS, y_star=3.0), output, rows)
    objective = Portnoy(TAUS, y_star=3.0, crossing_margin=0.1, crossing_strength=2.0)
    loss, gradient = gradient_of(objective, output, rows)
    penalty, by_penalty = slow_crossing_penalty(output, rows.weight, 0.1, 2.0)
    assert penalty > 0
    assert loss - plain_loss == pytest.approx(penalty, rel=1e-5)
    np.testing.assert_allclose(gradient - plain, by_penalty, rtol=1e-5, atol=1e-6)


def test_portnoy_is_validated_by_the_training_rows_censoring_curve(output, rows):
    train = censored_rows(40, seed=7)
    bound = Portnoy(TAUS, y_star=3.0).bind(train)
    judge = MarginalPinball.fit(train.time, train.event, train.weight)
    losses = judge(output, rows.time, rows.event, LEVELS).sum(axis=1)
    expected = np.mean(losses * rows.weight)
    assert bound.validation_loss(output, rows) == pytest.approx(expected, rel=1e-6)


def test_binding_leaves_the_objective_as_it_was(rows):
    objective = Portnoy(TAUS, y_star=3.0)
    assert objective.bind(rows).marginal is not None
    assert objective.marginal is None


def test_portnoy_must_be_bound_before_it_validates(output, rows):
    message = "validation_loss needs a bound objective: call bind(rows) first."
    with pytest.raises(RuntimeError, match="^" + re.escape(message) + "$"):
        Portnoy(TAUS).validation_loss(output, rows)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
class TestAnyGridObjective:
    def test_it_has_one_output_a_level(self, objective):
        assert objective.n_outputs == 3

    def test_it_keeps_all_rows(self, objective, rows):
        assert objective.prepare(rows) is rows

    def test_outputs_are_the_quantiles(self, objective, output):
        quantiles = objective.quantiles(output, LEVELS)
        assert quantiles.dtype == np.float64
        np.testing.assert_array_equal(quantiles, output)

    def test_the_order_of_rows_does_not_matter(self, objective, output, rows):
        order = np.random.default_rng(4).permutation(12)
        loss, gradient = gradient_of(objective, output, rows)
        shuffled_loss, shuffled = gradient_of(objective, output[order], rows.take(order))
        assert shuffled_loss == pytest.approx(loss, rel=1e-6)
        np.testing.assert_array_equal(shuffled, gradient[order])

    def test_it_cannot_be_changed(self, objective):
        with pytest.raises(FrozenInstanceError):
            objective.taus = (0.5,)

    def test_it_can_be_pickled(self, objective, output, rows):
        copy = pickle.loads(pickle.dumps(objective))
        assert copy == objective
        assert gradient_of(copy, output, rows)[0] == gradient_of(objective, output, rows)[0]


def test_a_grid_objective_without_constants_binds_to_itself(rows):
    objective = GridObjective(TAUS)
    assert objective.bind(rows) is objective
