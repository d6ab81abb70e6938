"""The methods of the benchmark and their published settings."""

import pickle

import numpy as np
import pytest

from censquant import CQRNN
from censquant.datasets import make_norm_linear
from censquant_bench import DATASETS, METHODS, get_dataset, get_method, own_dataset
from censquant_bench.paper import PAPER_METHODS, PUBLISHED_COLUMNS, published_table
from censquant_bench.paper._methods import TUNED as TABLE

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


@pytest.mark.parametrize("method", [one.name for one in PAPER_METHODS])
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
    assert set(PUBLISHED_COLUMNS.values()) == set(published_table()["method"])
    noted = {method.name for method in PAPER_METHODS if method.note}
    assert noted == set(PUBLISHED_COLUMNS)


def test_methods_travel_to_workers():
    for name, method in METHODS.items():
        copy = pickle.loads(pickle.dumps(method))
        assert (copy.name, copy.threadsafe) == (name, method.threadsafe)
        first, second = (one.build(get_dataset("weibull"), {}, 3) for one in (method, copy))
        assert type(first) is type(second)
        assert repr(vars(first)) == repr(vars(second))  # estimators inside have no equality


def test_unknown_methods_are_told_the_near_ones():
    with pytest.raises(ValueError, match="There is no method 'cqrn'; did you mean cqrnn"):
        get_method("cqrn")


def test_all_tuned_sets_exist():
    # A set that was renamed would silently be trained with the usual settings.
    assert len(TABLE) == 12
    assert set(TABLE) <= set(DATASETS)
    cells = {cell.removesuffix("d") for row in TABLE.values() for cell in row.values()}
    assert cells <= {"10", "20", "50", "100"}


@pytest.mark.parametrize("name", ["deepquantreg_as_run", "lognorm_as_run"])
def test_variants_as_run_differ_from_the_methods_as_meant(name):
    data = make_norm_linear(300, random_state=0)
    dataset = get_dataset("norm_linear")
    # Fewer epochs end far from the times, since these variants do not scale them.
    options = {"max_epochs": 20}
    as_run = get_method(name).build(dataset, options, 0).fit(data.X, data.y)
    meant = get_method(name.removesuffix("_as_run")).build(dataset, options, 0).fit(data.X, data.y)
    found, expected = (
        model.predict_quantiles(data.X[:5], [0.5], beyond="extrapolate")
        for model in (as_run, meant)
    )
    assert not np.allclose(found, expected)
