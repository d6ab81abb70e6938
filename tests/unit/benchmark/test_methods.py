"""The methods of the benchmark and their published settings."""

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

from censquant import CQRNN, LinearCQR
from censquant.benchmark import DATASETS, METHODS, get_dataset, get_method, own_dataset, own_method
from censquant.benchmark._methods import _content
from censquant.benchmark.peers import PEER_TITLES
from censquant.datasets import make_norm_linear

# The paper's tuning, a few cells of it read by hand: epochs, and whether dropout is on.
TUNED = [
    ("cqrnn", "metabric", 20, True),
    ("cqrnn", "whas", 100, False),
    ("cqrnn", "protein", 50, False),
    ("sequential_grid", "lgggbm", 50, True),
    ("excl_censor", "housing", 50, True),
    ("excl_censor", "tmb_immuno", 100, True),
    ("deepquantreg_as_run", "wine", 20, True),
    ("deepquantreg_as_run", "housing", 100, False),
    ("lognorm_as_run", "support", 20, True),
    ("lognorm_as_run", "breast_msk", 50, False),
]


@pytest.mark.parametrize(("method", "dataset", "epochs", "dropout"), TUNED)
def test_settings_are_those_of_the_paper(method, dataset, epochs, dropout):
    model = get_method(method).build(get_dataset(dataset), {}, 111)
    assert (model.max_epochs, model.dropout) == (epochs, 0.333 if dropout else 0.0)
    assert (model.standardize, model.time_transform) == (False, None)
    assert model.quantiles == get_dataset(dataset).taus
    assert model.random_state == 111


@pytest.mark.parametrize("method", [name for name in METHODS if name not in PEER_TITLES])
def test_one_feature_sets_train_a_hundred_epochs_without_dropout(method):
    model = get_method(method).build(get_dataset("weibull"), {}, 111)
    assert (model.max_epochs, model.dropout) == (100, 0.0)


@pytest.mark.parametrize(
    ("method", "activation"),
    [("cqrnn", "gelu"), ("excl_censor", "gelu"), ("lognorm_as_run", "relu"),
     ("sequential_grid", "relu")],
)  # fmt: skip
def test_some_methods_were_run_with_relu_throughout(method, activation):
    assert get_method(method).build(get_dataset("weibull"), {}, 1).activation == activation
    assert get_method(method).build(get_dataset("norm_same"), {}, 1).activation == "relu"


def test_images_get_their_network_and_its_learning_rate():
    model = get_method("cqrnn").build(get_dataset("survmnist"), {}, 111)
    assert model.network is not None
    assert (model.learning_rate, model.max_epochs, model.dropout) == (0.001, 10, 0.0)


@pytest.mark.parametrize(("method", "is_trained"), [("cqrnn", False), ("lognorm", True)])
def test_the_last_layer_for_images_was_not_trained_in_the_published_runs(method, is_trained):
    network = get_method(method).build(get_dataset("survmnist"), {}, 111).network
    layers = list(network((1, 28, 28), 19))
    assert all(p.requires_grad is is_trained for p in layers[-1].parameters())
    assert all(p.requires_grad for layer in layers[:-1] for p in layer.parameters())


def test_options_come_last():
    assert get_method("cqrnn").build(get_dataset("gbsg"), {"max_epochs": 3}, 1).max_epochs == 3


def test_own_data_meet_the_packages_defaults():
    data = make_norm_linear(50, random_state=0)
    model = get_method("cqrnn").build(own_dataset("mine", data.X, data.y), {}, 5)
    expected = CQRNN(model.quantiles, random_state=5).get_params()
    assert model.get_params() == expected


def test_every_published_column_has_its_method():
    published = {method.published for method in METHODS.values()} - {""}
    assert published == {"CQRNN", "Sequential grid", "Excl. censor", "DeepQuantReg", "LogNorm MLE"}


def test_own_estimators_are_cloned_and_get_levels_and_seed():
    mine = CQRNN(max_epochs=2)
    model = own_method("mine", mine).build(get_dataset("weibull"), {"max_epochs": 7}, 9)
    assert model is not mine
    assert (model.random_state, model.max_epochs, mine.max_epochs) == (9, 7, 2)
    assert model.quantiles == get_dataset("weibull").taus
    assert own_method("line", LinearCQR()).build(get_dataset("weibull"), {}, 9).quantiles[0] == 0.1


def test_an_estimator_without_quantiles_is_refused():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="got LinearRegression without predict_quantiles"):
        own_method("mine", LinearRegression())


class Forgetful(LinearCQR):
    """Changes what it was given, so that no copy is like it."""

    def __init__(self, quantiles=(0.5,)):
        self.quantiles = list(quantiles)


@pytest.mark.parametrize(
    ("name", "estimator", "error", "message"),
    [
        (1, LinearCQR(), TypeError, "name must be text, got int"),
        ("", LinearCQR(), ValueError, "name must not be empty"),
        ("mine", LinearCQR, TypeError, r"got the class LinearCQR: write LinearCQR\(\)"),
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
    typed = {"LinearCQR": LinearCQR, "__name__": "shell"}
    exec("class Typed(LinearCQR):\n    pass", typed)
    assert own_method("mine", typed["Typed"]()).fingerprint
    assert _content(threading.Lock()) == _content(threading.Lock()) != _content(threading.Event())


def test_the_fingerprint_is_the_same_in_another_process():
    code = (
        "from test_methods import CQRNN, network, own_method\n"
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
            "from censquant import LinearCQR\nclass Edited(LinearCQR):\n"
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


def test_methods_of_the_table_travel_by_name():
    for method in METHODS.values():
        assert pickle.loads(pickle.dumps(method)) is method


def test_unknown_methods_are_told_the_near_ones():
    with pytest.raises(ValueError, match="There is no method 'cqrn'; did you mean cqrnn"):
        get_method("cqrn")


def test_all_tuned_sets_exist():
    # A set that was renamed would silently be trained with the usual settings.
    from censquant.benchmark import _methods

    tables = (_methods._CQRNN, _methods._EXCL_CENSOR, _methods._DEEPQUANTREG, _methods._LOGNORM)
    for table in tables:
        assert set(table) <= set(DATASETS)
        assert len(table) == 12
        assert {epochs for epochs, _ in table.values()} <= {10, 20, 50, 100}


@pytest.mark.parametrize("name", ["deepquantreg_as_run", "lognorm_as_run"])
def test_variants_as_run_differ_from_the_methods_as_meant(name):
    data = make_norm_linear(300, random_state=0)
    dataset = get_dataset("norm_linear")
    options = {"max_epochs": 5}
    as_run = get_method(name).build(dataset, options, 0).fit(data.X, data.y)
    meant = get_method(name.removesuffix("_as_run")).build(dataset, options, 0).fit(data.X, data.y)
    found, expected = (
        model.predict_quantiles(data.X[:5], [0.5], beyond="extrapolate")
        for model in (as_run, meant)
    )
    assert not np.allclose(found, expected)
