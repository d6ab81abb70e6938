"""What CQRNN minimises where every row's censoring time is known."""

import pytest

from censquant import CQRNN
from censquant._engine.objectives._grid import Powell, TobitLaplace
from censquant.datasets import make_norm_linear


def small(**parameters):
    return CQRNN(**{"max_epochs": 3, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


DATA = make_norm_linear(120, random_state=0)


@pytest.mark.parametrize(("loss", "kind"), [("powell", Powell), ("tobit", TobitLaplace)])
def test_the_objective_is_the_one_asked_for(loss, kind):
    model = small(known_censoring_loss=loss)
    model.fit(DATA.X, DATA.y, censoring_time=DATA.censoring_time)
    assert type(model.models_[0].objective) is kind


def test_a_tobit_type_likelihood_recovers_the_median_of_normal_times():
    train, test = make_norm_linear(800, random_state=0), make_norm_linear(500, random_state=1)
    model = CQRNN([0.3, 0.5, 0.7], known_censoring_loss="tobit", max_epochs=40, random_state=0)
    model.fit(train.X, train.y, censoring_time=train.censoring_time)
    predicted = model.predict_quantiles(test.X, [0.5], beyond="extrapolate")
    assert ((predicted - test.true_quantiles([0.5])) ** 2).mean() < 0.25
