import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from censquant.datasets import fetch_cmapss, fetch_phm2008


def cycles(*lives):
    """Text with one row a cycle of engines of the given lives; sensor k of a row is row + k."""
    lines = []
    for unit, life in enumerate(lives, start=1):
        for cycle in range(1, life + 1):
            values = [0.5, 0.25, 100.0, *(len(lines) + k for k in range(1, 22))]
            lines.append(" ".join(map(str, [unit, cycle, *values])) + "  ")
    return "\n".join(lines) + "\n"


@pytest.fixture
def fleet(folder):
    """Lives of 3 and 2 cycles seen to their end; 2 of 9 and 1 of 6 cycles seen."""
    folder.add("cmapss_fd001/train_FD001.txt", cycles(3, 2))
    folder.add("cmapss_fd001/test_FD001.txt", cycles(2, 1))
    folder.add("cmapss_fd001/RUL_FD001.txt", "7 \n5 \n")


def test_engines_run_to_failure_have_the_cycles_left(fleet):
    data = fetch_cmapss(return_X_y=False)
    assert_array_equal(data.target["time"], [2, 1, 0, 1, 0])
    assert data.target["event"].all()
    assert_array_equal(data.groups, [1, 1, 1, 2, 2])


def test_age_settings_and_sensors_are_features_and_the_engine_is_none(fleet):
    data = fetch_cmapss(return_X_y=False)
    assert data.feature_names[:5] == ("cycle", "setting_1", "setting_2", "setting_3", "sensor_1")
    assert data.data.shape == (5, 25)
    assert_array_equal(data.data["cycle"], [1, 2, 3, 1, 2])
    assert_array_equal(data.data["sensor_21"], np.arange(5) + 21)


def test_test_engines_have_the_true_cycles_left(fleet):
    data = fetch_cmapss(subset="test", return_X_y=False)
    assert_array_equal(data.target["time"], [8, 7, 5])
    assert data.target["event"].all()
    assert_array_equal(data.groups, [101, 101, 102])


def test_the_fleet_as_it_was_seen_is_censored_where_records_stop(fleet):
    data = fetch_cmapss(subset="censored", return_X_y=False)
    assert_array_equal(data.target["time"], [2, 1, 0, 1, 0, 1, 0, 0])
    assert_array_equal(data.target["event"], [True] * 5 + [False] * 3)
    assert_array_equal(data.groups, [1, 1, 1, 2, 2, 101, 101, 102])


def test_what_was_seen_is_never_longer_than_what_was_left(fleet):
    _, truth = fetch_cmapss(subset="test")
    _, seen = fetch_cmapss(subset="censored")
    assert (seen["time"][-3:] < truth["time"]).all()


def test_engines_run_to_failure_need_only_their_own_file(folder):
    folder.add("cmapss_fd001/train_FD001.txt", cycles(1))
    assert len(fetch_cmapss()[1]) == 1


def test_an_unknown_subset_is_refused():
    message = "subset must be one of 'train', 'test', 'censored', got 'all'."
    with pytest.raises(ValueError, match=re.escape(message)):
        fetch_cmapss(subset="all")


def test_phm_has_sensors_only_and_its_own_name(folder):
    folder.add("phm2008/train.txt", cycles(2, 4))
    data = fetch_phm2008(return_X_y=False)
    assert data.name == "phm2008"
    assert data.feature_names == tuple(f"sensor_{k}" for k in range(1, 22))
    assert_array_equal(data.data.to_numpy()[0], np.arange(1, 22))
    assert_array_equal(data.target["time"], [1, 0, 3, 2, 1, 0])
    assert data.target["event"].all()
    assert_array_equal(data.groups, [1, 1, 2, 2, 2, 2])


def test_phm_is_not_read_from_the_files_of_another_set(fleet, folder, nobody):
    folder.publish("phm2008/train.txt", url=f"{nobody}/train.txt")
    with pytest.raises(ConnectionError, match=re.escape("'phm2008/train.txt' could not")):
        fetch_phm2008()
