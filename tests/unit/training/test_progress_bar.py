import sys
import threading

import numpy as np
import pytest

from censquant._engine.training._loop import ProgressBar, TrainingConfig, train
from censquant._engine.training._parallel import side_by_side
from toys import censored_rows, dense, portnoy_objective, stop_after


@pytest.fixture(params=["rich", "plain"])
def kind(request, monkeypatch):
    """The bar with rich and, rich hidden, the one without."""
    if request.param == "plain":
        for name in ("rich", "rich.progress", "rich.console"):
            monkeypatch.setitem(sys.modules, name, None)
    return request.param


def task(bar, member=0, *, n_epochs=3, callbacks=(), validation=None):
    def run(stopping):
        return train(
            dense(seed=member),
            portnoy_objective(),
            censored_rows(),
            TrainingConfig(max_epochs=n_epochs, batch_size=16),
            np.random.default_rng(member),
            callbacks=[*callbacks, bar],
            member=member,
            validation=validation,
            stopping=stopping,
        )

    return run


def done(kind, epochs):
    """What the display says after so many of so many epochs."""
    return f"training {epochs} epochs  loss" if kind == "plain" else f" {epochs} "


def test_it_shows_epochs_and_loss_on_stderr_alone(kind, capsys):
    history = task(ProgressBar())(threading.Event())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert done(kind, "3/3") in captured.err
    assert f"loss {history[-1]['loss']:.4g}" in captured.err
    assert captured.err.endswith("\n")


def test_it_shows_the_validation_loss_where_there_is_one(kind, capsys):
    history = task(ProgressBar(), validation=censored_rows(20, seed=3))(threading.Event())
    assert f"loss {history[-1]['validation_loss']:.4g}" in capsys.readouterr().err


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_members_share_one_bar(kind, n_jobs, capsys):
    bar = ProgressBar(3)
    side_by_side([task(bar, member) for member in range(3)], n_jobs)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert done(kind, "9/9") in captured.err
    assert captured.err.count("\n") == captured.err.rstrip("\n").count("\n") + 1


def test_a_training_that_stops_early_still_closes_it(kind, capsys):
    bar = ProgressBar(2)
    for _ in range(2):
        task(bar, callbacks=[stop_after(1)])(threading.Event())
    captured = capsys.readouterr()
    assert captured.err.endswith("\n")
    # The epochs that a member left out count as done: nothing is waited for.
    assert done(kind, "6/6") in captured.err


def test_a_call_after_the_end_is_ignored(kind, capsys):
    bar, runs = ProgressBar(), []

    class Keeper:
        def on_start(self, run):
            runs.append(run)

        on_epoch = on_end = lambda self, run: None

    task(bar, callbacks=[Keeper()])(threading.Event())
    capsys.readouterr()
    bar.on_epoch(runs[0])
    bar.on_end(runs[0])
    assert capsys.readouterr().err == ""
