import inspect
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from censquant import datasets
from censquant.datasets import (
    RealData,
    _catalogue,
    catalogue,
    describe,
    fetch_cmapss,
    fetch_files,
    load,
    load_gbsg2,
    make_norm_4d,
)
from censquant.datasets._info import CatalogueEntry
from censquant.survival import kaplan_meier
from data_folder import check_counts, check_file, is_here

# Rows, features, censored rows and groups, counted in the published files.
COUNTED = {
    "gbsg2": (686, 8, 387, None),
    "metabric": (1904, 9, 801, None),
    "whas": (1638, 6, 948, 735),
    "support": (8873, 14, 2837, None),
    "gbsg": (2232, 7, 965, 2230),
    "phm2008": (45918, 21, 0, 218),
    "cmapss": (20631, 25, 0, 100),
}
OWN = [entry.info for entry in _catalogue._OWN.values()]
REAL = [info for info in OWN if info.kind != "synthetic"]
FILES = {file.path: file for info in REAL for file in info.files}
SYNTHETIC = [info for info in OWN if info.kind == "synthetic"]


@pytest.mark.parametrize("info", REAL, ids=lambda info: info.name)
def test_the_catalogue_says_what_is_counted_in_the_files(info):
    check_counts(info, *COUNTED[info.name])


def test_every_real_set_is_counted_here():
    assert {info.name for info in REAL} == set(COUNTED)


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_files_are_registered_completely(file):
    check_file(file)


def test_every_download_has_files_and_no_other_set_has_any():
    assert all(bool(info.files) == (info.kind == "download") for info in catalogue())


def test_names_are_unique_and_every_public_loader_has_one():
    names = [info.name for info in catalogue()]
    assert len(names) == len(set(names)) >= 14 + len(COUNTED)
    public = [n for n in datasets.__all__ if re.match(r"(load|fetch)_", n) and n != "fetch_files"]
    assert {n.partition("_")[2] for n in public} == set(COUNTED)


@pytest.mark.parametrize("info", SYNTHETIC, ids=lambda info: info.name)
def test_synthetic_sets_are_made_as_the_catalogue_says(info):
    data = load(info.name, random_state=0)
    assert data.X.shape == (info.n_samples, info.n_features)
    assert data.name == info.title
    assert (data.description, data.source, data.licence) == (
        info.description,
        info.source,
        info.licence,
    )
    assert len(data.feature_names) == info.n_features
    assert data.censored_share == 1 - data.y["event"].mean()
    # The offset of the sets with four features is drawn, and moves the share by some points.
    assert data.censored_share == pytest.approx(info.censored_share, abs=0.08)
    assert load(info.name, n_samples=20, censored=False).censored_share == 0.0
    assert fetch_files(info.name) == ()


@pytest.mark.parametrize("info", SYNTHETIC, ids=lambda info: info.name)
class TestFormsOfSyntheticSets:
    def test_they_unpack_as_features_and_target(self, info):
        data = load(info.name, n_samples=20, random_state=0)
        X, y = data
        assert X is data.X
        assert y is data.y

    def test_a_frame_holds_the_same_rows_under_their_names(self, info):
        plain = load(info.name, n_samples=20, random_state=0)
        data = load(info.name, n_samples=20, random_state=0, as_frame=True)
        assert isinstance(data.X, pd.DataFrame)
        assert tuple(data.X.columns) == data.feature_names == plain.feature_names
        assert_array_equal(data.X.to_numpy(), plain.X)
        assert_array_equal(data.y, plain.y)
        assert_array_equal(data.true_quantiles([0.1, 0.9]), plain.true_quantiles([0.1, 0.9]))

    def test_they_are_taken_apart_like_real_ones(self, info):
        plain = load(info.name, n_samples=20, random_state=0)
        X, y = load(info.name, n_samples=20, random_state=0)
        assert_array_equal(X, plain.X)
        assert_array_equal(y, plain.y)

    def test_a_flag_must_be_a_flag(self, info):
        with pytest.raises(TypeError, match=re.escape("as_frame must be True or False, got 1.")):
            load(info.name, n_samples=1, as_frame=1)


def test_features_are_named_as_in_the_formulas():
    assert load("weibull", n_samples=1).feature_names == ("x",)
    assert load("norm_same", n_samples=1).feature_names == ("x0", "x1", "x2", "x3")


def test_a_frame_without_pandas_is_refused_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^as_frame=True needs pandas; pass as_frame=False"):
        load("weibull", as_frame=True)


def test_every_text_says_something():
    for info in catalogue():
        assert all((info.title, info.description, info.source, info.licence)), info.name
        assert info.description.endswith("."), info.name


def test_an_info_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        describe("whas").n_samples = 1


def test_options_reach_the_function_behind_the_name():
    drawn = load("norm_heavy", n_samples=5, random_state=3, offset=6.0)
    expected = make_norm_4d(5, censoring="heavy", random_state=3, offset=6.0)
    assert_array_equal(drawn.y, expected.y)
    assert isinstance(load("gbsg2", return_X_y=False), RealData)


def test_an_offset_is_refused_where_targets_are_not_moved():
    message = "offset moves the targets of the sets with four features only, got 2.0 for Weibull."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load("weibull", offset=2.0)


@pytest.mark.parametrize("function", [describe, load, fetch_files])
class TestUnknownNames:
    @pytest.fixture(autouse=True)
    def alone(self, monkeypatch):
        """Nothing else is installed."""
        monkeypatch.setattr(_catalogue, "load_plugins", lambda group: {})

    def test_near_names_are_listed_and_where_there_are_more(self, function):
        message = (
            "There is no data set 'Metabrik'; did you mean metabric? More data sets are added by: "
            "pip install censquant-bench"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            function("Metabrik")

    def test_all_names_are_listed_where_none_is_near(self, function):
        message = "There is no data set '?'; there are norm_linear, "
        with pytest.raises(ValueError, match=f"^{re.escape(message)}.*, cmapss\\. More"):
            function("?")

    def test_other_types_are_refused(self, function):
        message = "The name of a data set must be a string, got 7."
        with pytest.raises(TypeError, match=re.escape(message)):
            function(7)


def test_sets_of_another_distribution_follow(monkeypatch):
    entry = CatalogueEntry(replace(describe("gbsg2"), name="own"), lambda: "loaded")
    monkeypatch.setattr(_catalogue, "load_plugins", lambda group: {"own": (entry,)})
    assert [info.name for info in catalogue()] == [*(info.name for info in OWN), "own"]
    assert describe("own").title == "GBSG2"
    assert load("own") == "loaded"
    with pytest.raises(ValueError, match=r"^There is no data set 'owm'; did you mean own\?$"):
        load("owm")


@pytest.mark.parametrize("name", datasets._MOVED.split())
def test_names_that_moved_say_where_to(name):
    with pytest.raises(AttributeError) as error:
        getattr(datasets, name)
    assert str(error.value) == (
        f"censquant.datasets.{name} is now censquant_bench.datasets.{name}, which is installed "
        "by: pip install censquant-bench"
    )


@pytest.mark.parametrize("name", COUNTED)
def test_all_real_sets_share_one_signature(name):
    function = getattr(datasets, f"fetch_{name}", load_gbsg2)
    own = {n: p.default for n, p in inspect.signature(function).parameters.items()}
    own.pop("subset", None)
    # What comes with the package loads without pandas too.
    assert own == {"return_X_y": True, "as_frame": "auto" if name == "gbsg2" else True}
    assert (function is fetch_cmapss) == ("subset" in inspect.signature(function).parameters)


def test_flags_must_be_flags():
    with pytest.raises(TypeError, match=r"return_X_y must be True or False, got 1\."):
        load_gbsg2(return_X_y=1)


def test_the_catalogue_is_read_without_what_downloads_and_reads_files():
    program = (
        "import sys\n"
        "from censquant.datasets import catalogue\n"
        "catalogue()\n"
        "heavy = {'pooch', 'h5py', 'requests', 'rich', 'pandas', 'scipy.special'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_fleet_of_engines_is_as_its_description_counts_it():
    """The text is compared everywhere; the files too, where CENSQUANT_DATA has them."""
    text = " ".join(fetch_cmapss.__doc__.split())
    assert "(13096 rows, all observed)" in text
    assert "(33727 rows, 39 % censored)" in text
    assert "0.56 at the true median life" in text
    if is_here(describe("cmapss")):
        seen = fetch_cmapss(subset="censored", return_X_y=False)
        truth = fetch_cmapss(subset="test", return_X_y=False)
        assert (len(truth.target), len(seen.target)) == (13096, 33727)
        assert round(seen.censored_share, 2) == 0.39
        first = seen.data["cycle"].to_numpy() == 1
        lives = seen.target["time"][first] + 1
        true_lives = lives.copy()
        true_lives[100:] = truth.target["time"][truth.data["cycle"].to_numpy() == 1] + 1
        curve = kaplan_meier(lives, seen.target["event"][first])
        at_median = np.searchsorted(curve.time, np.median(true_lives), side="right") - 1
        assert round(float(curve.survival[at_median]), 2) == 0.56
