"""An encoder in a model file: the same encoder comes back, anything else is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from censquant._files import write_arrays
from censquant._rows._encoder import FrameEncoder, encoder_part, restored_encoder
from censquant._storage._parts import Part
from censquant._storage._persistence import open_file
from censquant.exceptions import ExtrapolationWarning, FeatureWarning, ModelFileError
from model_files import refused
from mutations import mutated_file, sign

RNG = np.random.default_rng(0)
N = 80
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 9, N),
        "dose": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "flat": np.where(RNG.random(N) < 0.2, np.nan, 1.0),
        "stage": RNG.choice(["I", "II", "III", None], N),
        "city": RNG.choice(["u", "v", *"abcdefghijklmno"], N, p=[0.35, 0.35, *[0.02] * 15]),
        "same": 1.0,
        "smoker": RNG.random(N) < 0.3,
    }
)


@pytest.fixture(scope="module")
def encoder():
    with pytest.warns(FeatureWarning, match="'same'"):
        return FrameEncoder.fit(FRAME)


def write(path, part):
    write_arrays(path, "model", {"model": part.tree(), "contents": []}, part.flat_arrays())


def opened(path):
    return open_file(path, lambda part: restored_encoder(part, list(FRAME)))


@pytest.fixture
def path(tmp_path, encoder):
    path = tmp_path / "encoder.safetensors"
    write(path, encoder_part(encoder))
    return path


def test_the_same_encoder_comes_back(path, encoder):
    loaded = opened(path)
    assert loaded.rules == encoder.rules
    assert loaded.names == encoder.names
    assert loaded.feature_names_out == encoder.feature_names_out
    np.testing.assert_array_equal(loaded.transform(FRAME), encoder.transform(FRAME))


@pytest.mark.parametrize("level", ["", "\ud800", "\0", "Ä 漢", "$part", "a/b"])
def test_any_text_is_a_level_that_comes_back(tmp_path, level):
    frame = pd.DataFrame({"a": pd.Series([level, "u", "v"], dtype=object)})
    encoder = FrameEncoder.fit(frame)
    write(tmp_path / "file", encoder_part(encoder))
    loaded = open_file(tmp_path / "file", lambda part: restored_encoder(part, ["a"]))
    assert loaded.rules == encoder.rules


def test_the_contents_name_levels_and_medians(encoder):
    assert encoder_part(encoder).contents == (
        "median of each numeric feature and whether it had missing values",
        "levels of each categorical feature (at most 30) and whether it had others",
    )
    numbers = FrameEncoder.fit(FRAME[["age"]])
    assert encoder_part(numbers).contents == (
        "median of each numeric feature and whether it had missing values",
    )
    text = FrameEncoder.fit(FRAME[["stage"]])
    assert encoder_part(text).contents == (
        "levels of each categorical feature (at most 30) and whether it had others",
    )


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_a_copy_encodes_the_same(encoder, twin):
    np.testing.assert_array_equal(twin(encoder).transform(FRAME), encoder.transform(FRAME))


STAGE = {"levels": ["I", "II", "III"], "rare": False, "missing": True}


def changed(part, place="3", **changes):
    """The part with other entries of one category."""
    part = copy.deepcopy(part)
    part.description["categories"][place].update(changes)
    return part


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": ["II", "I"]}, "must hold at most 30 distinct and sorted levels of each"),
        ({"levels": ["I", "I"]}, "must hold at most 30 distinct and sorted levels of each"),
        ({"levels": [f"{i:02d}" for i in range(31)]}, "must hold at most 30 distinct and sorted"),
        ({"levels": ["I", 2]}, "has an entry 'level' that is not str: 2."),
        ({"levels": "I"}, "has an entry 'levels' that is not list: 'I'."),
        ({"rare": 1}, "has an entry 'rare' that is not bool: 1."),
        ({"missing": None}, "has an entry 'missing' that is not bool: None."),
        ({"levels": ["I"], "missing": False}, "has a category without levels."),
        ({"levels": [], "missing": False}, "has a category without levels."),
        ({"more": 1}, "does not describe a category by its levels."),
    ],
)
def test_a_category_that_no_fit_makes_is_refused(path, encoder, changes, message):
    write(path, changed(encoder_part(encoder), **changes))
    refused(path, message, opened)


def test_a_part_of_another_shape_is_refused(path, encoder):
    part = encoder_part(encoder)
    wrong = "does not hold the arrays that its model needs"
    for arrays, message in [
        ({"kinds": part.arrays["kinds"][1:]}, wrong),
        ({"medians": part.arrays["medians"].astype(np.float32)}, wrong),
        ({"more": part.arrays["kinds"]}, wrong),
        ({"medians": np.full(7, np.nan)}, "holds numbers in 'medians' that are not finite."),
        ({"kinds": np.full(7, 9, np.uint8)}, "has a column of an unknown kind: 9."),
        ({"kinds": np.full(7, 2, np.uint8)}, "has levels of columns that are not categories."),
        ({"kinds": np.full(7, 1, np.uint8)}, "is not a consistent model file"),
    ]:
        write(path, Part("FrameEncoder", {}, part.description, {**part.arrays, **arrays}))
        refused(path, message, opened)
    write(path, Part("LinearQuantileRegressor", {}, part.description, part.arrays))
    refused(path, "holds something else in the place of its encoder of columns.", opened)
    write(path, Part("FrameEncoder", {}, {**part.description, "more": 1}, part.arrays))
    refused(path, "describes more of its encoder of columns than there is.", opened)
    write(path, Part("FrameEncoder", {}, {"categories": [STAGE]}, part.arrays))
    refused(path, "has an entry 'categories' that is not dict", opened)


def test_no_mutation_is_opened_to_an_encoder_that_gives_other_than_finite_numbers(path, encoder):
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    n_refused = 0
    for _ in range(1_500):
        path.write_bytes(mutated_file(content, rng, sign)[0])
        try:
            loaded = opened(path)
        except ModelFileError as error:
            n_refused += 1
            text = str(error)
        else:
            text = encoded_or_refused(loaded)
        assert text.endswith(".")
        assert "\n" not in text
    assert 800 < n_refused < 1_500


def encoded_or_refused(encoder):
    """What is said of rows that a forged encoder does not take; others become finite numbers."""
    try:
        Z = encoder.transform(FRAME)
    except (ValueError, ExtrapolationWarning) as error:
        return str(error)
    assert np.isfinite(Z).all()
    assert Z.shape == (N, len(encoder.feature_names_out))
    return "encoded."
