"""Forests as files: the same bits, and nothing that a walk could leave its arrays by."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import censquant
from censquant import CensoredQuantileForest
from censquant._files import read_arrays
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (80, 2))
TIME = 1 + X[:, 0] + RNG.exponential(size=80)
LIMIT = RNG.uniform(1.5, 5, 80)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)


def fitted(weight=None, **parameters):
    options = {"n_estimators": 3, "random_state": 0, **parameters}
    return CensoredQuantileForest([0.2, 0.5], **options).fit(X, Y, weight)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 1.5, 80)], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"censoring": "left"}, {"max_samples": 30, "max_features": 1, "n_jobs": 2}],
    ids=str,
)
def test_a_loaded_forest_predicts_the_same_bits(path, parameters, weight):
    model = fitted(weight, **parameters)
    model.save(path)
    content, loaded = path.read_bytes(), censquant.load_model(path)
    for name in ("predict_curve", "identified_level"):
        found, expected = (getattr(each, name)(X) for each in (loaded, model))
        if name == "predict_curve":
            found, expected = found.values, expected.values
        np.testing.assert_array_equal(found, expected)
    assert loaded.get_params() == {**model.get_params(), "quantiles": (0.2, 0.5)}
    loaded.save(path)
    assert path.read_bytes() == content


def test_a_file_says_that_it_holds_times_of_training_rows(path):
    fitted().save(path)
    header, _ = read_arrays(path, "model")
    assert "times and events of the training rows, in groups" in header["contents"]


def test_a_fitted_forest_holds_no_object_of_scikit_learn():
    held = vars(fitted())["_leaves"]
    assert all(isinstance(array, np.ndarray) for array in vars(held).values())


def at(name, place, value):
    """Change of one entry of an array."""

    def change(arrays):
        array = arrays[name].copy()
        array[place] = value
        return {name: array}

    return change


def after_split(arrays):
    """Place of the first node that is a leaf."""
    return int(np.flatnonzero(arrays["children"][:, 0] < 0)[0])


# Of a file that version 0.1 wrote, which has all places of children.
FORGED_UNPACKED = {
    "a walk that goes back": (
        at("children", (0, 1), 0),
        "children",
        "lead to later nodes of the same tree",
    ),
    "a walk past the end": (
        at("children", (0, 1), 10**6),
        "children",
        "lead to later nodes of the same tree",
    ),
    "a walk into another tree": (
        lambda a: at("children", (0, 1), a["root"][1])(a),
        "children",
        "lead to later nodes of the same tree",
    ),
    "an unknown leaf": (
        lambda a: at("children", (after_split(a), 0), -(10**6))(a),
        "children",
        "number the leaves in order",
    ),
    "half a leaf": (
        lambda a: at("children", (after_split(a), 1), 3)(a),
        "children",
        "number the leaves in order",
    ),
    "another order of nodes": (
        lambda a: {"children": np.where(a["children"] < 0, a["children"], a["children"][:, ::-1])},
        "children",
        "have a first child as the next node",
    ),
    "no first tree": (at("root", 0, 1), "root", "start with the first node and end"),
    "an empty leaf": (at("start", 1, 0), "start", "give rows to every leaf"),
    "missing rows": (at("start", -1, 7), "start", "cover all rows"),
}


def with_bits(change):
    """Change of the bits that say which nodes are leaves."""

    def changed(arrays):
        n = int(arrays["n_nodes"].sum())
        bits = np.unpackbits(arrays["is_leaf"], count=n)
        return {"is_leaf": np.packbits(change(bits, arrays))}

    return changed


def swapped(bits, arrays):
    """The last leaf of the first tree and its first split change places."""
    last = arrays["n_nodes"][0] - 1
    bits[0], bits[last] = 1, 0
    return bits


FORGED = {
    "no trees": (lambda a: {"n_nodes": a["n_nodes"][:0]}, "n_nodes", "count the nodes of trees"),
    "a tree of no nodes": (at("n_nodes", 0, 0), "n_nodes", "count the nodes of trees"),
    "trees larger than memory": (at("n_nodes", 0, 2**62), "n_nodes", "count the nodes of trees"),
    "one byte more": (
        lambda a: {"is_leaf": np.append(a["is_leaf"], np.uint8(0))},
        "is_leaf",
        "say of each node whether it is a leaf",
    ),
    "one split less": (with_bits(lambda b, a: 0 * b + 1), "feature", "fit the nodes"),
    "a tree that does not end": (
        with_bits(lambda b, a: np.sort(b)[::-1]),
        "is_leaf",
        "describe trees",
    ),
    "a walk into another tree": (
        with_bits(swapped),
        "children",
        "lead to later nodes of the same tree",
    ),
    "an unknown feature": (at("feature", 0, 2), "feature", "name known features"),
    "a negative feature": (at("feature", 0, -1), "feature", "name known features"),
    "an unknown time": (at("codes", 0, 60_000), "codes", "refer to its times"),
    "an event before all times": (at("codes", 0, 1), "codes", "refer to its times"),
    "an empty leaf": (
        lambda a: {"size": np.append([0, a["size"][:2].sum()], a["size"][2:]).astype("i4")},
        "start",
        "give rows to every leaf",
    ),
    "a leaf of less than nothing": (at("size", 0, -3), "start", "cover all rows"),
    "missing rows": (lambda a: {"codes": a["codes"][:-1]}, "start", "cover all rows"),
    "times out of order": (at("times", 0, 99.0), "times", "increase"),
    "no times": (lambda a: {"times": a["times"][:0]}, "times", "hold 1 to 512 times"),
    "a reach of 0": (at("half_reach", 0, 0.0), "half_reach", "hold positive numbers"),
}


@pytest.mark.parametrize(("forge", "array", "rule"), FORGED.values(), ids=FORGED)
def test_a_forged_forest_is_refused(path, forge, array, rule):
    fitted().save(path)
    _, arrays = read_arrays(path, "model")
    rewrite(path, arrays=forge(arrays))
    refused(path, f"holds a forest whose array {array!r} does not {rule}.")


@pytest.mark.parametrize(("forge", "array", "rule"), FORGED_UNPACKED.values(), ids=FORGED_UNPACKED)
def test_a_forged_forest_of_version_0_1_is_refused(path, forge, array, rule):
    shutil.copy(Path(__file__).parents[3] / "reference" / "models-0.1" / "forest.safetensors", path)
    _, arrays = read_arrays(path, "model")
    rewrite(path, arrays=forge(arrays))
    refused(path, f"holds a forest whose array {array!r} does not {rule}.")


def test_a_stored_forest_takes_four_bytes_per_row_and_tree(path):
    rng = np.random.default_rng(1)
    x, time = rng.normal(size=(3_000, 4)), rng.exponential(size=3_000)
    CensoredQuantileForest(n_estimators=20, random_state=0).fit(x, time).save(path)
    assert path.stat().st_size < 4.5 * 20 * 3_000


@pytest.mark.parametrize(
    "change",
    [
        {"lowest": "0"},
        {"mean_rate": 0.0},
        {"mean_rate": ...},
    ],
    ids=str,
)
def test_a_forged_description_is_refused(path, change):
    fitted().save(path)
    rewrite(path, part={"description": change})
    refused(path, "is not a consistent model file")
