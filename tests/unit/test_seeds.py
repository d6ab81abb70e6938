"""What a ``random_state`` means."""

import re

import numpy as np
import pytest

from censquant._validation import generator, seed_sequence


def test_an_integer_means_numpys_own_generator_of_that_seed():
    expected = np.random.default_rng(9).random(4)
    np.testing.assert_array_equal(generator(9).random(4), expected)
    np.testing.assert_array_equal(generator(np.int64(9)).random(4), expected)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_used_itself_for_draws_and_once_for_seeds(kind):
    rng = kind(5)
    assert generator(rng) is rng
    first, second = (seed_sequence(rng).entropy for _ in range(2))
    assert first == seed_sequence(kind(5)).entropy != second


def test_none_is_new_every_time():
    assert seed_sequence(None).entropy != seed_sequence(None).entropy
    assert generator(None).random() != generator(None).random()


@pytest.mark.parametrize("reader", [generator, seed_sequence])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("luck", TypeError, "random_state must be an integer, got 'luck'."),
        (1.5, TypeError, "random_state must be an integer, got 1.5."),
        (True, TypeError, "random_state must be an integer, got True."),
        (-1, ValueError, "random_state must be at least 0, got -1."),
    ],
)
def test_both_readers_refuse_the_same(reader, value, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        reader(value)
