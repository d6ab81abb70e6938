"""The sets of comparisons in the catalogue of the library."""

import inspect
import re
from pathlib import Path

import pytest

from censquant.datasets import catalogue, describe
from censquant_bench import datasets
from censquant_bench.datasets import ENTRIES, fetch_protein
from data_folder import check_counts, check_file

# Rows, features, censored rows and groups, counted in the published files.
COUNTED = {
    "tmb_immuno": (1660, 3, 829, None),
    "breast_msk": (1834, 5, 1423, 1683),
    "lgggbm": (638, 5, 394, None),
    "housing": (20640, 8, 0, None),
    "protein": (45730, 9, 0, 44019),
    "wine": (6497, 11, 0, 5318),
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
    "field_aids.id": (467, 5, 279, None),
    "field_bladder0": (397, 3, 191, None),
    "field_channing": (458, 2, 282, None),
    "field_check_times": (13626, 22, 103, None),
    "field_child": (26574, 4, 20958, None),
    "field_dataFTR": (2206, 2, 1906, None),
    "field_dataSTR": (546, 4, 445, None),
    "field_flchain": (4000, 7, 2918, None),
    "field_grace": (1000, 6, 676, None),
    "field_hdfail": (52410, 5, 49529, None),
    "field_liver": (488, 2, 196, None),
    "field_mgus": (176, 7, 11, None),
    "field_nwtco": (4028, 3, 3457, None),
    "field_ova": (358, 5, 92, None),
    "field_tumor": (776, 7, 401, None),
    "field_veteran": (137, 6, 9, None),
    "field_wbc1": (190, 2, 81, None),
}
INFOS = [entry.info for entry in ENTRIES]
FILES = {file.path: file for info in INFOS for file in info.files}


def test_the_catalogue_says_what_is_counted_in_the_files():
    for info in INFOS:
        check_counts(info, *COUNTED[info.name])


def test_they_follow_the_sets_of_the_library():
    assert {info.name for info in INFOS} == set(COUNTED)
    assert list(catalogue()[-len(INFOS) :]) == INFOS


def test_files_are_registered_completely():
    for file in FILES.values():
        check_file(file)


def test_every_set_of_the_field_has_its_name():
    assert [f"field_{name}" for name in datasets.FIELD_DATASETS] == [
        name for name in COUNTED if name.startswith("field_")
    ]


@pytest.mark.parametrize("name", [n for n in datasets.__all__ if n.startswith("fetch_")])
def test_all_fetchers_share_one_signature(name):
    parameters = inspect.signature(getattr(datasets, name)).parameters
    own = {n: p.default for n, p in parameters.items()}
    for option in ("subset", "random_state", "name"):
        own.pop(option, None)
    assert own == {"return_X_y": True, "as_frame": True}


def test_flags_must_be_flags(folder):
    folder.add("protein/CASP.csv", "header\n" + ",".join("1" * 10) + "\n")
    for flag in ("return_X_y", "as_frame"):
        with pytest.raises(TypeError, match=re.escape(f"{flag} must be True or False, got 1.")):
            fetch_protein(**{flag: 1})


def test_drawn_times_need_no_images_for_tests():
    assert [Path(file.path).name[:5] for file in describe("survmnist").files] == ["train"] * 2
    assert len(describe("mnist").files) == 4


def test_near_names_of_both_distributions_are_listed():
    message = "There is no data set 'Metabrik'; did you mean metabric or field_metabric?"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        describe("Metabrik")
