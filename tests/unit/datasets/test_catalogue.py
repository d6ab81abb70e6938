import inspect
import os
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from censquant import datasets
from censquant.datasets import (
    RealData,
    catalogue,
    describe,
    fetch_cmapss,
    fetch_files,
    fetch_mnist,
    fetch_protein,
    load,
    load_gbsg2,
    make_norm_4d,
)
from censquant.survival import kaplan_meier

# Rows, features, censored rows and groups, counted in the published files.
COUNTED = {
    "gbsg2": (686, 8, 387, None),
    "metabric": (1904, 9, 801, None),
    "whas": (1638, 6, 948, 735),
    "support": (8873, 14, 2837, None),
    "gbsg": (2232, 7, 965, 2230),
    "tmb_immuno": (1660, 3, 829, None),
    "breast_msk": (1834, 5, 1423, 1683),
    "lgggbm": (638, 5, 394, None),
    "housing": (20640, 8, 0, None),
    "protein": (45730, 9, 0, 44019),
    "wine": (6497, 11, 0, 5318),
    "phm2008": (45918, 21, 0, 218),
    "cmapss": (20631, 25, 0, 100),
    "mnist": (60000, 784, 0, None),
    "survmnist": (60000, 784, 0, None),
    "field_CarpenterFdaData": (408, 25, 146, None),
    "field_aids2": (2814, 4, 1081, None),
    "field_cat_adoption": (2257, 18, 823, None),
    "field_colrec": (5578, 5, 976, None),
    "field_cost": (518, 13, 114, None),
    "field_e1684": (284, 3, 88, None),
    "field_gbsg": (2232, 7, 965, None),
    "field_kidtran": (863, 3, 723, None),
    "field_lung": (167, 8, 47, None),
    "field_metabric": (1903, 9, 800, None),
    "field_nafld1": (12588, 5, 11570, None),
    "field_rdata": (1040, 3, 493, None),
    "field_std": (877, 21, 530, None),
    "field_support": (4000, 14, 1295, None),
    "field_uis": (575, 12, 111, None),
    "field_wa_churn": (7032, 18, 5163, None),
    "field_whas": (481, 9, 232, None),
}
OF_THE_FIELD = {name for name in COUNTED if name.startswith("field_")}
DATA = os.environ.get("CENSQUANT_DATA", "")
REAL = [info for info in catalogue() if info.kind != "synthetic"]
FILES = {file.path: file for info in REAL for file in info.files}
SYNTHETIC = [info for info in catalogue() if info.kind == "synthetic"]


def is_here(info):
    """Whether this machine has the published files of a set."""
    return all((Path(DATA) / file.path).is_file() for file in info.files) and (
        info.kind == "bundled" or bool(DATA)
    )


def facts(info):
    return info.n_samples, info.n_features, round(info.censored_share * info.n_samples)


@pytest.mark.parametrize("info", REAL, ids=lambda info: info.name)
def test_the_catalogue_says_what_is_counted_in_the_files(info):
    """Facts are compared everywhere; the files too, where CENSQUANT_DATA has them."""
    n_rows, n_features, n_censored, n_groups = COUNTED[info.name]
    assert facts(info) == (n_rows, n_features, n_censored)
    assert bool(info.groups) == (n_groups is not None)
    for file in info.files if is_here(info) else ():
        assert file.size is None or (Path(DATA) / file.path).stat().st_size == file.size
    if is_here(info):
        data = load(info.name, return_X_y=False)
        assert data.data.shape == (n_rows, n_features)
        assert round(data.censored_share * n_rows) == n_censored
        assert (None if data.groups is None else len(np.unique(data.groups))) == n_groups
        assert tuple(data.data.columns) == data.feature_names
        assert np.isfinite(data.data.select_dtypes("number").to_numpy()).all()
        assert not data.data.isna().to_numpy().any()
        assert (data.description, data.source, data.licence) == (
            info.description,
            info.source,
            info.licence,
        )


def test_every_real_set_is_counted_here():
    assert {info.name for info in REAL} == set(COUNTED)


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_files_are_registered_completely(file):
    assert file.url.startswith("https://")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}|git-sha1:[0-9a-f]{40}", file.checksum)
    assert file.size is None or file.size > 0
    if "raw.githubusercontent.com" in file.url:
        # A branch may move; a commit cannot.
        assert re.search(r"/[0-9a-f]{40}/", file.url)


def test_every_download_has_files_and_no_other_set_has_any():
    assert all(bool(info.files) == (info.kind == "download") for info in catalogue())


def test_names_are_unique_and_every_public_loader_has_one():
    names = [info.name for info in catalogue()]
    assert len(names) == len(set(names)) == 14 + len(COUNTED)
    public = [n for n in datasets.__all__ if re.match(r"(load|fetch)_", n) and n != "fetch_files"]
    assert {n.partition("_")[2] for n in public} == set(COUNTED) - OF_THE_FIELD | {"field"}
    assert {f"field_{name}" for name in datasets.FIELD_DATASETS} == OF_THE_FIELD


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
    def test_near_names_are_listed(self, function):
        message = "There is no data set 'Metabrik'; did you mean metabric or field_metabric?"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            function("Metabrik")

    def test_all_names_are_listed_where_none_is_near(self, function):
        message = "There is no data set '?'; there are norm_linear, "
        with pytest.raises(ValueError, match=f"^{re.escape(message)}.*, survmnist\\.$"):
            function("?")

    def test_other_types_are_refused(self, function):
        message = "The name of a data set must be a string, got 7."
        with pytest.raises(TypeError, match=re.escape(message)):
            function(7)


@pytest.mark.parametrize("name", [*sorted(set(COUNTED) - OF_THE_FIELD), "field"])
def test_all_real_sets_share_one_signature(name):
    function = getattr(datasets, f"fetch_{name}", load_gbsg2)
    own = {n: p.default for n, p in inspect.signature(function).parameters.items()}
    for option in ("subset", "random_state", "name"):
        own.pop(option, None)
    # What comes with the package loads without pandas too.
    assert own == {"return_X_y": True, "as_frame": "auto" if name == "gbsg2" else True}
    assert (function in (fetch_cmapss, fetch_mnist)) == (
        "subset" in inspect.signature(function).parameters
    )


def test_flags_must_be_flags(folder):
    folder.add("protein/CASP.csv", "header\n" + ",".join("1" * 10) + "\n")
    for flag in ("return_X_y", "as_frame"):
        with pytest.raises(TypeError, match=re.escape(f"{flag} must be True or False, got 1.")):
            fetch_protein(**{flag: 1})


def test_the_catalogue_is_read_without_what_downloads_and_reads_files():
    program = (
        "import sys\n"
        "from censquant.datasets import catalogue\n"
        "catalogue()\n"
        "heavy = {'pooch', 'h5py', 'requests', 'rich', 'pandas', 'scipy.special'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_drawn_times_need_no_images_for_tests():
    assert [Path(file.path).name[:5] for file in describe("survmnist").files] == ["train"] * 2
    assert len(describe("mnist").files) == 4


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
