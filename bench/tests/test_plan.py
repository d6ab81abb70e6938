"""From names to cells."""

import re

import pytest

from benchmark_cells import Median
from censquant import CQRNN
from censquant.datasets import load_gbsg2
from censquant_bench import (
    RunConventions,
    Suite,
    own_dataset,
    own_method,
    plan,
)


def test_main_has_the_papers_sets_and_both_splits_where_rows_repeat():
    cells = plan("main")
    assert len({cell.dataset.name for cell in cells}) == 26
    assert {one.split for one in cells if one.dataset.name == "whas"} == {"random", "grouped"}
    assert {one.split for one in cells if one.dataset.name == "gbsg"} == {"random"}
    assert all(one.seeds == tuple(range(111, 121)) for one in cells)


def test_the_sequential_suite_has_two_hundred_and_fifty_runs():
    runs = {one.dataset.name: len(one.seeds) for one in plan("sequential")}
    assert (runs["weibull"], runs["gbsg"]) == (200, 50)


def test_the_grid_suite_makes_as_many_steps_on_every_sample():
    cells = plan("grid", datasets=["weibull"])
    assert len(cells) == 24
    assert {one.n_train * one.options["max_epochs"] for one in cells} <= set(range(94_000, 106_001))
    assert {len(one.options["quantiles"]) for one in cells} == {9, 19, 39}
    assert all(0.5 in one.options["quantiles"] for one in cells)


def test_variants_have_names_of_their_own():
    for suite in ("grid", "ystar", "crossing", "interpolation", "partial_full"):
        cells = plan(suite, seeds=1)
        keys = [one.key(111) for one in cells]
        assert len(set(keys)) == len(keys)


def test_kinds_stand_for_their_sets():
    names = {cell.dataset.name for cell in plan("main", datasets=["small"], methods=["cqrnn"])}
    assert len(names) == 21
    assert "housing" not in names


def test_wanted_splits_are_kept_where_they_exist():
    with pytest.warns(UserWarning, match="There is no grouped split of gbsg: left out"):
        cells = plan("main", datasets=["whas", "gbsg"], methods=["cqrnn"], splits=["grouped"])
    assert [(one.dataset.name, one.split) for one in cells] == [("whas", "grouped")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": [([[1.0]], [1.0])]}, "datasets must hold names.*got tuple"),
        ({"methods": [CQRNN()]}, "methods must hold names, or what own_method returns.*CQRNN"),
    ],
)
def test_what_is_no_set_and_no_method_is_told_what_to_call(options, message):
    with pytest.raises(TypeError, match=message):
        plan("main", **options)


def test_a_peer_that_is_not_installed_is_named_before_anything_is_fitted(monkeypatch):
    monkeypatch.setattr("censquant_bench.peers._registry.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="needs lifelines, which is not installed"):
        plan("main", datasets=["weibull"], methods=["cqrnn", "lifelines_cox"])


def test_copies_meet_peers_by_groups_too():
    cells = plan("peers", datasets=["whas", "gbsg"], methods=["cqrnn"])
    found = [(one.dataset.name, one.split) for one in cells]
    assert found == [("whas", "random"), ("whas", "grouped"), ("gbsg", "random")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suite": "mian"}, "There is no suite 'mian'; did you mean main"),
        ({"datasets": ["gbgs"]}, "There is no dataset 'gbgs'; did you mean gbsg"),
        ({"methods": ["lognormal"]}, "There is no method 'lognormal'; did you mean lognorm"),
        ({"splits": ["group"]}, "There is no split 'group'; did you mean grouped"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"datasets": []}, "There is nothing to run: datasets and methods must name"),
        ({"methods": []}, "There is nothing to run: datasets and methods must name"),
        (
            {"datasets": "gbsg", "splits": "grouped"},
            "There is no grouped split of gbsg; censquant bench --list says which there are",
        ),
        (
            {"suite": "ystar", "methods": ["lognorm"]},
            "The suite 'ystar' varies y_star, which the method 'lognorm' does not have",
        ),
        (
            {"suite": "grid", "methods": ["sksurv_cox"]},
            "varies max_epochs, quantiles, which the method 'sksurv_cox' does not have",
        ),
        (
            {"suite": "grid", "datasets": ["gbsg"]},
            "The suite 'grid' varies the number of rows, so its sets must be synthetic, got",
        ),
    ],
)
def test_wrong_words_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        plan(**options)


def test_a_method_named_twice_is_run_once():
    assert len(plan("main", datasets=["weibull"], methods=["cqrnn", "cqrnn"])) == 1


def test_a_single_name_may_stand_alone():
    assert len(plan("main", datasets="weibull", methods="cqrnn")) == 1


def test_two_things_of_one_name_are_refused():
    X, y = load_gbsg2(as_frame=False)
    twice = [own_dataset("mine", X, y), own_dataset("mine", X, y)]
    with pytest.raises(ValueError, match="Two data sets are called 'mine'"):
        plan("main", datasets=twice, methods=["cqrnn"])
    ways = [own_method("me", Median()), own_method("me", Median())]
    with pytest.raises(ValueError, match="Two methods are called 'me'"):
        plan("main", datasets=["weibull"], methods=ways)


def test_peers_are_the_ones_installed():
    names = {one.method.name for one in plan("peers", datasets=["weibull"])}
    assert {"cqrnn", "sksurv_cox", "lifelines_weibull"} <= names


def test_a_suite_of_pictures_has_no_cells():
    message = "The suite 'figures' draws pictures and has no cells to plan; call run with it."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        plan("figures")


def test_a_suite_of_ones_own_may_hold_own_data_and_methods():
    X, y = load_gbsg2(as_frame=False)
    study, median = own_dataset("study", X, y), own_method("median", Median())
    (one,) = plan(Suite("mine", "Mine.", (study,), (median,)))
    assert (one.dataset, one.method) == (study, median)


def test_a_suite_of_ones_own_is_planned_with_its_conventions():
    class Mine(RunConventions):
        pass

    suite = Suite("mine", "Mine.", ("weibull",), ("cqrnn",), {"synthetic": 2}, conventions=Mine())
    (one,) = plan(suite)
    assert (one.suite, one.seeds) == ("mine", (111, 112))
    assert isinstance(one.conventions, Mine)
