"""Wrong input to the estimator: one sentence each, and no fit."""

import re

import numpy as np
import pandas as pd
import pytest

from censquant import CQRNN
from censquant.datasets import make_norm_linear
from censquant.exceptions import NoEventsError

DATA = make_norm_linear(40, random_state=0)
X, TIME, EVENT = DATA.X, DATA.y["time"], DATA.y["event"]


def small(**parameters):
    return CQRNN(**{"max_epochs": 1, "hidden_layer_sizes": (4,), "random_state": 0, **parameters})


def refused(error, message, call):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


def replaced(array, row, value):
    changed = np.array(array, dtype=float)
    changed[row] = value
    return changed


WRONG_TYPES = {
    "quantiles": ("half", "quantiles must be numbers, got 'half'."),
    "hidden_layer_sizes": (
        "wide",
        "hidden_layer_sizes must be a sequence of positive integers, got 'wide'.",
    ),
    "dropout": (True, "dropout must be a number, got True."),
    "network": (
        3,
        "network must be a function (input_shape, n_outputs) -> torch.nn.Module, got 3.",
    ),
    "y_star": ([50.0], "y_star must be a number, got [50.0]."),
    "crossing_penalty": ("much", "crossing_penalty must be a number, got 'much'."),
    "crossing_margin": (None, "crossing_margin must be a number, got None."),
    "em_epochs": (2.5, "em_epochs must be an integer, got 2.5."),
    "standardize": (1, "standardize must be True or False, got 1."),
    "learning_rate": ("fast", "learning_rate must be a number, got 'fast'."),
    "weight_decay": (None, "weight_decay must be a number, got None."),
    "batch_size": (12.5, "batch_size must be an integer, got 12.5."),
    "max_epochs": (True, "max_epochs must be an integer, got True."),
    "early_stopping": ("yes", "early_stopping must be True or False, got 'yes'."),
    "validation_fraction": ("a tenth", "validation_fraction must be a number, got 'a tenth'."),
    "n_iter_no_change": (None, "n_iter_no_change must be an integer, got None."),
    "n_members": (2.0, "n_members must be an integer, got 2.0."),
    "n_jobs": ("two", "n_jobs must be an integer, got 'two'."),
    "random_state": ("luck", "random_state must be an integer, got 'luck'."),
    "verbose": ("loud", "verbose must be an integer, got 'loud'."),
}

WRONG_VALUES = {
    "quantiles": (
        (0.5, 0.25),
        "quantiles must be strictly increasing and inside (0, 1), got (0.5, 0.25).",
    ),
    "hidden_layer_sizes": (
        (8, 0),
        "Every entry of hidden_layer_sizes must be at least 1, got 0.",
    ),
    "activation": (
        "elu",
        "activation must be one of 'relu', 'gelu', 'silu', 'tanh', got 'elu'.",
    ),
    "dropout": (1.0, "dropout must be finite and inside [0, 1), got 1.0."),
    "head": ("sorted", "head must be one of 'free', 'increasing', got 'sorted'."),
    "level_rule": (
        "upper",
        "level_rule must be one of 'nearest', 'lower', 'interpolate', got 'upper'.",
    ),
    "known_censoring_loss": (
        "huber",
        "known_censoring_loss must be one of 'powell', 'tobit', got 'huber'.",
    ),
    "y_star": (np.inf, "y_star must be finite and inside (-inf, inf), got inf."),
    "crossing_penalty": (-1, "crossing_penalty must be finite and inside [0, inf), got -1."),
    "crossing_margin": (-1, "crossing_margin must be finite and inside [0, inf), got -1."),
    "em_epochs": (0, "em_epochs must be at least 1, got 0."),
    "time_transform": (
        "sqrt",
        "time_transform must be None, 'standardize', 'log', 'tobit' or 'log-tobit', got 'sqrt'.",
    ),
    "learning_rate": (0.0, "learning_rate must be finite and inside (0, inf), got 0.0."),
    "weight_decay": (-1, "weight_decay must be finite and inside [0, inf), got -1."),
    "batch_size": (0, "batch_size must be at least 1, got 0."),
    "max_epochs": (0, "max_epochs must be at least 1, got 0."),
    "validation_fraction": (
        1.0,
        "validation_fraction must be finite and inside (0, 1), got 1.0.",
    ),
    "n_iter_no_change": (0, "n_iter_no_change must be at least 1, got 0."),
    "n_members": (0, "n_members must be at least 1, got 0."),
    "n_jobs": (0, "n_jobs must be None or an integer other than 0, got 0."),
    "censoring": ("interval", "censoring must be one of 'right', 'left', got 'interval'."),
    "random_state": (-1, "random_state must be at least 0, got -1."),
    "device": (
        "cuda",
        "device='cuda' needs network=: the built-in dense network runs on the CPU.",
    ),
    "verbose": (-1, "verbose must be at least 0, got -1."),
}

CHOICES = {
    "activation",
    "head",
    "level_rule",
    "known_censoring_loss",
    "time_transform",
    "censoring",
    "device",
}


def test_every_parameter_is_tested():
    parameters = set(CQRNN().get_params())
    # Words from a list are compared by type and value at once.
    assert set(WRONG_TYPES) == parameters - CHOICES
    # There is no wrong value among flags and functions.
    assert set(WRONG_VALUES) == parameters - {"network", "standardize", "early_stopping"}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_parameter_of_the_wrong_type_is_refused(name):
    value, message = WRONG_TYPES[name]
    model = small(**{name: value})
    refused(TypeError, message, lambda: model.fit(X, DATA.y))
    assert not hasattr(model, "quantiles_")


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_parameter_of_the_wrong_value_is_refused(name):
    value, message = WRONG_VALUES[name]
    model = small(**{name: value})
    refused(ValueError, message, lambda: model.fit(X, DATA.y))
    assert not hasattr(model, "quantiles_")


@pytest.mark.parametrize("name", sorted(CHOICES - {"time_transform", "device"}))
def test_a_word_of_the_wrong_type_is_refused_as_one_not_on_the_list(name):
    with pytest.raises(ValueError, match=rf"^{name} must be one of .*, got 0.$"):
        small(**{name: 0}).fit(X, DATA.y)


def test_nothing_is_checked_before_fit():
    wrong = {**WRONG_TYPES, **WRONG_VALUES}
    CQRNN(**{name: value for name, (value, _) in wrong.items()})


@pytest.mark.parametrize(
    ("quantiles", "message"),
    [
        ([0.0, 0.5], "got (0.0, 0.5)."),
        ([0.5, 1.0], "got (0.5, 1.0)."),
        ([0.5, 0.5], "got (0.5, 0.5)."),
        ([0.5, np.nan], "got (0.5, nan)."),
    ],
)
def test_levels_that_are_no_grid_are_refused(quantiles, message):
    sentence = f"quantiles must be strictly increasing and inside (0, 1), {message}"
    refused(ValueError, sentence, lambda: small(quantiles=quantiles).fit(X, DATA.y))


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "Input X contains NaN."), (np.inf, "Input X contains infinity")]
)
@pytest.mark.parametrize("method", ["fit", "predict", "identified_level"])
def test_features_must_be_finite(value, message, method):
    wrong = replaced(X, 3, value)
    model = small().fit(X, DATA.y)
    call = (lambda: model.fit(wrong, DATA.y)) if method == "fit" else (
        lambda: getattr(model, method)(wrong)
    )  # fmt: skip
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


Y_MESSAGES = [
    (
        (replaced(TIME, 3, np.nan), EVENT),
        ValueError,
        "y contains NaN: 1 of 40 times are missing, the first in row 3.",
    ),
    (
        (replaced(TIME, 3, np.inf), EVENT),
        ValueError,
        "y contains infinity: 1 of 40 times are infinite, the first in row 3; give the last "
        "observed time and event=False instead.",
    ),
    (
        (TIME, np.where(EVENT, 2, 1)),
        ValueError,
        "event must be boolean or 0 and 1, got the values 1, 2: 2 usually means the event, write "
        "event == 2; "
        "kinds of events are 0, 1 and 2 for CompetingRisksRegressor, "
        "with 0 where none was seen.",
    ),
    (
        (TIME, np.where(EVENT, "dead", "alive")),
        ValueError,
        "event must be boolean or 0 and 1, got the values 'alive', 'dead': compare the column "
        "with the value that means the event.",
    ),
    (
        np.column_stack([TIME, EVENT]),
        ValueError,
        "y must not be a two-column array, since the order of its columns cannot be known, got "
        "shape (40, 2): pass Surv.from_arrays(event=..., time=...) or a (time, event) tuple.",
    ),
    (
        (TIME, np.zeros(40, dtype=bool)),
        NoEventsError,
        "y has no event: 40 of 40 rows are censored, so no quantile can be fitted.",
    ),
    (
        (TIME[:30], EVENT),
        ValueError,
        "time and event must have the same length, got 30 times and 40 events.",
    ),
    (
        (TIME[:30], EVENT[:30]),
        ValueError,
        "y must have one row for each row of X, got 30 rows in y and 40 in X.",
    ),
    (
        (TIME.astype(str), EVENT),
        TypeError,
        "y must hold numbers, got dtype <U32: convert the column to float.",
    ),
    (
        pd.DataFrame({"days": TIME, "event": EVENT}),
        ValueError,
        "y must have the columns 'event' and 'time' (or 'duration'), got 'days', 'event': rename "
        "them or pass Surv.from_dataframe(event, time, data).",
    ),
]


@pytest.mark.parametrize(("y", "error", "message"), Y_MESSAGES, ids=[m[2][:40] for m in Y_MESSAGES])
def test_a_target_that_cannot_be_used_is_refused(y, error, message):
    refused(error, message, lambda: small().fit(X, y))


def test_events_among_rows_of_zero_weight_are_no_events():
    message = "y has no event: 39 of 39 rows are censored, so no quantile can be fitted."
    event, weight = np.arange(40) == 7, np.arange(40) != 7
    refused(NoEventsError, message, lambda: small().fit(X, (TIME, event), weight.astype(float)))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), "sample_weight must have one value for each row, got 3 values for 40 rows."),
        (
            replaced(np.ones(40), 5, -1),
            "sample_weight must be finite and not negative, got -1 in row 5.",
        ),
        (
            replaced(np.ones(40), 5, np.nan),
            "sample_weight must be finite and not negative, got nan in row 5.",
        ),
        (np.zeros(40), "sample_weight must hold a positive value, got only zeros."),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weight, message):
    refused(ValueError, message, lambda: small().fit(X, DATA.y, weight))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match=r"^Found array with 1 sample\(s\) \(shape=\(1, 1\)\)"):
        small().fit([[1.0]], [2.0])


def test_features_must_be_a_table():
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 1D array instead"):
        small().fit(X[:, 0], DATA.y)


def test_text_among_the_features_is_refused():
    with pytest.raises(
        ValueError, match=r"^X must hold numbers, got .* in the columns 'x0': encode"
    ):
        small().fit([["old"], ["young"]], [1.0, 2.0])


@pytest.mark.parametrize("method", ["predict", "predict_quantiles", "predict_survival_function"])
def test_another_number_of_features_is_refused(method):
    message = "X has 3 features, but CQRNN is expecting 1 features as input."
    model = small().fit(X, DATA.y)
    refused(ValueError, message, lambda: getattr(model, method)(np.ones((5, 3))))


def test_a_misspelt_column_is_refused():
    model = small().fit(pd.DataFrame({"age": X[:, 0]}), DATA.y)
    message = r"^X must have the columns of the fit, got no column 'age' \(is it 'aeg'\?\)\.$"
    with pytest.raises(ValueError, match=message):
        model.predict(pd.DataFrame({"aeg": X[:, 0]}))


def test_what_a_subclass_must_provide_is_named_by_an_error():
    from censquant.estimators import BaseQuantileRegressor, NeuralRegressor, ParametricRegressor

    class Nothing(BaseQuantileRegressor):
        def fit(self, X, y):
            self.fitted_ = True
            return self

    for base in (NeuralRegressor, ParametricRegressor):
        with pytest.raises(TypeError, match=r"abstract method .*_make_objective"):
            base()
    with pytest.raises(NotImplementedError, match=r"^Nothing must implement predict_curve\.$"):
        Nothing().fit(X, DATA.y).predict(X)
