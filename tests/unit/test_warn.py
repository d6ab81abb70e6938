"""Warnings that are shown once per place."""

import warnings

import pytest

from censquant._warn import warn_once, warn_user


def shown(action, n_times=3, **options):
    """Number of warnings that a loop shows while another library touches the filters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        if action is not None:
            warnings.filterwarnings(action, **options)
        for _ in range(n_times):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ImportWarning)
            warn_once(f"Said under {action} {options}.", UserWarning, stacklevel=1)
    return len(caught)


@pytest.mark.parametrize("action", ["default", "once", "module", None])
def test_a_loop_shows_a_warning_once(action):
    assert shown(action) == 1


def test_every_warning_is_shown_where_that_is_asked_for():
    assert shown("always") == 3


def test_an_error_is_raised_every_time():
    for _ in range(2):
        with pytest.raises(UserWarning, match=r"^Said under error"):
            shown("error")


@pytest.mark.parametrize(
    ("options", "n_shown"),
    [
        ({"message": "Said"}, 3),
        ({"message": "Other"}, 1),
        ({"category": RuntimeWarning}, 1),
        ({"module": "nowhere"}, 1),
        ({"lineno": 1}, 1),
    ],
)
def test_only_filters_that_apply_count(options, n_shown):
    assert shown("always", **options) == n_shown


def test_other_texts_and_places_are_shown_too():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warn_once("One text.", UserWarning, stacklevel=1)
        warn_once("One text.", UserWarning, stacklevel=1)
        warn_once("Another text.", UserWarning, stacklevel=1)
    assert len(caught) == 3
    assert all(warning.filename == __file__ for warning in caught)


def test_a_user_is_warned_at_the_line_outside_of_the_package():
    inside = {"__name__": "censquant.somewhere", "warn_user": warn_user}
    exec("def inner(): warn_user('From within.', UserWarning)\ndef outer(): inner()", inside)
    with pytest.warns(UserWarning, match=r"^From within\.$") as caught:
        inside["outer"]()
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^From here\.$") as caught:
        warn_user("From here.", UserWarning)
    assert caught[0].filename == __file__
