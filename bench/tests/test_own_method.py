"""A user's own estimator as a method of the benchmark."""

import importlib
import linecache
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from censquant import CQRNN, LinearQuantileRegressor
from censquant_bench import get_dataset, own_method
from censquant_bench._own import _content


def test_own_estimators_are_cloned_and_get_levels_and_seed():
    mine = CQRNN(max_epochs=2)
    model = own_method("mine", mine).build(get_dataset("weibull"), {"max_epochs": 7}, 9)
    assert model is not mine
    assert (model.random_state, model.max_epochs, mine.max_epochs) == (9, 7, 2)
    assert model.quantiles == get_dataset("weibull").taus
    assert (
        own_method("line", LinearQuantileRegressor())
        .build(get_dataset("weibull"), {}, 9)
        .quantiles[0]
        == 0.1
    )


def test_an_estimator_without_quantiles_is_refused():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="got LinearRegression without predict_quantiles"):
        own_method("mine", LinearRegression())


class Forgetful(LinearQuantileRegressor):
    """Changes what it was given, so that no copy is like it."""

    def __init__(self, quantiles=(0.5,)):
        self.quantiles = list(quantiles)


@pytest.mark.parametrize(
    ("name", "estimator", "error", "message"),
    [
        (1, LinearQuantileRegressor(), TypeError, "name must be text, got int"),
        ("", LinearQuantileRegressor(), ValueError, "name must not be empty"),
        (
            "mine",
            LinearQuantileRegressor,
            TypeError,
            r"got the class LinearQuantileRegressor: write LinearQuantileRegressor\(\)",
        ),
        ("mine", Forgetful(), TypeError, "that sklearn.base.clone can copy.*got Forgetful"),
    ],
)
def test_what_cannot_be_a_method_gets_a_sentence(name, estimator, error, message):
    with pytest.raises(error, match=message):
        own_method(name, estimator)


def network(input_shape, n_outputs):
    """Stands for a network of torch."""


def test_the_fingerprint_follows_content_and_not_print():
    def of(**parameters):
        return own_method("mine", CQRNN(**parameters)).fingerprint

    assert of(network=network) == of(network=network) != of(network=print)
    assert of(quantiles=np.linspace(0.1, 0.9, 5000)) != of(quantiles=np.linspace(0.1, 0.8, 5000))
    many = np.linspace(0.1, 0.9, 5000)
    changed = many.copy()
    changed[2500] += 1e-9  # which print leaves out
    assert of(quantiles=many) == of(quantiles=many.copy()) != of(quantiles=changed)
    assert of(network=lambda shape, n: None) == of(network=lambda shape, n: None)


def test_what_has_no_text_and_no_content_counts_by_its_class():
    """A class typed into a shell, and a parameter that cannot be pickled."""
    typed = {"LinearQuantileRegressor": LinearQuantileRegressor, "__name__": "shell"}
    exec("class Typed(LinearQuantileRegressor):\n    pass", typed)
    assert own_method("mine", typed["Typed"]()).fingerprint
    assert _content(threading.Lock()) == _content(threading.Lock()) != _content(threading.Event())


def test_the_fingerprint_is_the_same_in_another_process():
    code = (
        "from test_own_method import CQRNN, network, own_method\n"
        "print(own_method('mine', CQRNN(network=network)).fingerprint)"
    )
    folder = str(Path(__file__).parent)
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == own_method("mine", CQRNN(network=network)).fingerprint


def test_an_estimator_that_was_edited_has_another_fingerprint(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = set()
    for factor in (1, 2, 2):
        text = (
            "from censquant import LinearQuantileRegressor as Linear\nclass Edited(Linear):\n"
            f"    def predict_quantiles(self, X, quantiles):\n        return {factor}\n"
        )
        (tmp_path / "edited_estimator.py").write_text(text)
        linecache.checkcache()
        sys.modules.pop("edited_estimator", None)
        importlib.invalidate_caches()
        module = importlib.import_module("edited_estimator")
        found.add(own_method("mine", module.Edited()).fingerprint)
    assert len(found) == 2


@pytest.mark.parametrize("name", ["cqrnn", "CQRNN", "DeepQuantReg"])
def test_names_of_the_table_are_not_free(name):
    with pytest.raises(ValueError, match=f"must not be that of a method of the benchmark.*{name}"):
        own_method(name, CQRNN())


def test_own_methods_travel_whole_to_workers():
    method = own_method("mine", LinearQuantileRegressor(method="peng-huang"))
    copy = pickle.loads(pickle.dumps(method))
    model = copy.build(get_dataset("weibull"), {}, 9)
    assert (model.method, model.quantiles) == ("peng-huang", get_dataset("weibull").taus)
    assert copy.fingerprint == method.fingerprint
