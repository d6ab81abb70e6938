"""What holds for every table of the types that are allowed."""

import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._rows._encoder import MOST_LEVELS, FrameEncoder, NumberRule
from censquant.exceptions import ExtrapolationWarning, FeatureWarning

FLOATS = st.floats(allow_nan=True, allow_infinity=False)
WHOLE = st.integers(-(2**31), 2**31)
TEXT = st.text(st.characters(), max_size=3)
FEW = st.sampled_from(["u", "v", "w", "x", ""])
# Values of a column, and the type that pandas is to give it.
KINDS = [
    (FLOATS, np.float64),
    (st.floats(width=32, allow_infinity=False), np.float32),
    (st.integers(-3, 3), np.int64),
    (WHOLE, "Int64"),
    (st.none() | WHOLE, "Int64"),
    (st.none() | FLOATS.filter(np.isfinite), "Float64"),
    (st.booleans(), bool),
    (st.none() | st.booleans(), "boolean"),
    (st.none() | TEXT, object),
    (st.none() | FEW, "string"),
    (st.none() | FEW, "string[pyarrow]"),
    (st.none() | FEW, "category"),
    (st.none() | st.integers(0, 3), "category"),
    (st.none() | st.booleans() | FEW | FLOATS | WHOLE, object),
    (st.none() | st.decimals(allow_infinity=False, allow_nan=False) | WHOLE, object),
]


@st.composite
def frames(draw, min_rows=1, max_rows=60):
    """A frame of a few columns, each of any type that is allowed."""
    n_rows = draw(st.integers(min_rows, max_rows))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    return pd.DataFrame(
        {
            f"c{place}": pd.Series(
                draw(st.lists(values, min_size=n_rows, max_size=n_rows)), dtype=dtype
            )
            for place, (values, dtype) in enumerate(kinds)
        }
    )


def fitted(frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureWarning)
        return FrameEncoder.fit(frame, **options)


def transformed(encoder, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return encoder.transform(frame)


@settings(max_examples=200, deadline=None)
@given(frames())
def test_the_result_is_finite_and_has_the_named_columns(frame):
    encoder = fitted(frame)
    Z = encoder.transform(frame)  # rows of the fit are never unknown: a warning is an error
    assert Z.shape == (len(frame), len(encoder.feature_names_out))
    assert Z.shape == (len(frame), len(encoder.origins))
    assert Z.dtype == np.float64
    assert np.isfinite(Z).all()


@settings(max_examples=100, deadline=None)
@given(frames(), st.data())
def test_rules_do_not_depend_on_the_order_of_rows_and_rows_not_on_each_other(frame, data):
    order = data.draw(st.permutations(range(len(frame))))
    encoder = fitted(frame)
    shuffled = fitted(frame.iloc[order])
    assert shuffled.rules == encoder.rules
    Z = encoder.transform(frame)
    np.testing.assert_array_equal(encoder.transform(frame.iloc[order]), Z[order])
    one = order[0]
    np.testing.assert_array_equal(encoder.transform(frame.iloc[[one]]), Z[[one]])


@settings(max_examples=100, deadline=None)
@given(frames(max_rows=20), st.data())
def test_whole_weights_are_repeated_rows(frame, data):
    weight = data.draw(hnp.arrays(np.int64, len(frame), elements=st.integers(0, 5)))
    weight[0] = max(weight[0], 1)
    repeated = frame.iloc[np.repeat(np.arange(len(frame)), weight)]
    assert fitted(frame, weight=weight.astype(float)).rules == fitted(repeated).rules


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | TEXT, min_size=1, max_size=80), st.lists(st.none() | TEXT))
def test_each_row_has_at_most_one_level_and_only_unknown_levels_have_none(seen, new):
    frame = pd.DataFrame({"a": pd.Series(seen, dtype=object)})
    encoder = fitted(frame)
    (rule,) = encoder.rules
    later = pd.DataFrame({"a": pd.Series(new, dtype=object)})
    Z = transformed(encoder, later)
    assert set(Z.ravel()) <= {0.0, 1.0}
    assert (Z.sum(axis=1) <= 1).all()
    if isinstance(rule, NumberRule) or rule is None:
        return
    assert len(rule.levels) <= MOST_LEVELS
    for row, level in zip(Z, new, strict=True):
        shown = [name for name, one in zip(encoder.feature_names_out, row, strict=True) if one]
        if level in rule.levels and Z.shape[1] > 2:
            assert shown == [f"a={level}"]
        elif not level and rule.has_missing:
            assert shown == ["a (missing)"]
        elif level not in rule.levels and rule.has_rare and rule.has_levels:
            assert shown == ["a (rare)"]
        elif level not in rule.levels:
            assert shown == []


@settings(max_examples=100, deadline=None)
@given(frames(), frames())
def test_any_later_frame_of_known_kinds_is_finite_or_refused_by_name(frame, later):
    encoder = fitted(frame)
    later = pd.DataFrame(
        {name: later.iloc[:, place % later.shape[1]] for place, name in enumerate(frame)}
    )
    try:
        Z = transformed(encoder, later)
    except ValueError as error:
        assert str(error).startswith("X must hold numbers in the columns 'c")  # noqa: PT017
    else:
        assert np.isfinite(Z).all()


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=FLOATS)
)
def test_arrays_frames_and_objects_of_the_same_numbers_are_the_same(X):
    encoder = fitted(X)
    Z = encoder.transform(X)
    columns = [f"x{place}" for place in range(X.shape[1])]
    for same in (pd.DataFrame(X, columns=columns), X.astype(object), np.asfortranarray(X)):
        assert fitted(same).rules == encoder.rules
        np.testing.assert_array_equal(encoder.transform(same), Z)
    for place, origin in enumerate(encoder.origins):
        if encoder.feature_names_out[place] == f"x{origin}":
            known = ~np.isnan(X[:, origin])
            np.testing.assert_array_equal(Z[known, place], X[known, origin])
            expected = np.sort(X[known, origin])[[(known.sum() - 1) // 2, known.sum() // 2]]
            with np.errstate(over="ignore"):
                assert encoder.rules[origin].median == (expected / 2).sum()
