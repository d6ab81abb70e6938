"""Members, callbacks, checkpoints, early stopping and Ctrl-C, as a user of CQRNN meets them."""

import copy
import math
import threading
from itertools import groupby

import numpy as np
import pytest

from censquant import CQRNN, Checkpoint
from censquant.datasets import make_norm_linear
from censquant.exceptions import ModelFileError, TrainingDivergedError

DATA = make_norm_linear(150, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
LARGEST, SMALLEST = float(Y["time"].max()), float(Y["time"].min())


def small(**parameters):
    return CQRNN(**{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def fitted(target=Y, rows=X, **parameters):
    return quantiles(small(**parameters).fit(rows, target), rows)


def assert_same(*fits):
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit, fits[0])


def assert_all_differ(*fits):
    assert len({fit.tobytes() for fit in fits}) == len(fits)


# Members


def test_members_are_averaged_on_the_scale_of_training():
    model = small(n_members=3, time_transform="log", max_epochs=1).fit(X, Y)
    singles = []
    for part in model.models_:
        single = copy.copy(model)
        single.models_ = [part]
        singles.append(quantiles(single))
    assert_all_differ(*singles)
    # On the logarithm of time the average is geometric.
    expected = np.exp(np.mean(np.log(singles), axis=0))
    np.testing.assert_allclose(quantiles(model), expected, rtol=1e-12)


def test_the_first_member_is_the_fit_of_one():
    model = small(n_members=2).fit(X, Y)
    model.models_ = model.models_[:1]
    assert_same(quantiles(model), fitted())


def test_history_has_a_record_an_epoch():
    model = small(max_epochs=10).fit(X, Y)
    assert [record["epoch"] for record in model.history_] == list(range(1, 11))
    assert all(set(r) == {"epoch", "loss", "learning_rate"} for r in model.history_)
    rates = [record["learning_rate"] for record in model.history_]
    assert rates == pytest.approx([0.01] * 7 + [1e-3] * 2 + [1e-4])
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]


def test_history_names_the_member_where_there_are_several():
    model = small(n_members=2, n_jobs=2).fit(X, Y)
    assert [(r["member"], r["epoch"]) for r in model.history_] == [
        (member, epoch) for member in range(2) for epoch in range(1, 5)
    ]


# Watching and stopping


def test_a_silent_fit_writes_nothing(capfd):
    small().fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [1, True])
def test_a_verbose_fit_shows_the_epochs_of_all_members_on_stderr(capsys, verbose):
    small(verbose=verbose, n_members=2).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "8/8" in err
    assert "loss" in err


class Recorder:
    """Counts calls, and raises or stops after some epochs."""

    def __init__(self, raises=None, after=math.inf):
        self.calls, self.raises, self.after = [], raises, after
        self._lock = threading.Lock()

    def on_start(self, run):
        with self._lock:
            self.calls.append(("start", run.member, 0))

    def on_epoch(self, run):
        with self._lock:
            self.calls.append(("epoch", run.member, run.n_epochs))
        if run.n_epochs >= self.after:
            if self.raises is not None:
                raise self.raises
            run.stop()

    def on_end(self, run):
        with self._lock:
            self.calls.append(("end", run.member, run.n_epochs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_see_every_epoch_of_every_member(n_jobs):
    recorder = Recorder()
    small(n_members=2, n_jobs=n_jobs, max_epochs=2).fit(X, Y, callbacks=[recorder])
    for member in range(2):
        assert [call for call in recorder.calls if call[1] == member] == [
            ("start", member, 0),
            ("epoch", member, 1),
            ("epoch", member, 2),
            ("end", member, 2),
        ]


def test_a_callback_may_stop_a_training():
    model = small().fit(X, Y, callbacks=[Recorder(after=2)])
    assert len(model.history_) == 2


def test_an_error_in_a_callback_comes_through_and_leaves_no_fit():
    model = small()
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.fit(X, Y, callbacks=[Recorder(ZeroDivisionError("mine"), after=1)])
    assert not hasattr(model, "quantiles_")


def test_ctrl_c_keeps_what_was_learned():
    recorder = Recorder(KeyboardInterrupt(), after=2)
    model = small().fit(X, Y, callbacks=[recorder])
    assert len(model.history_) == 2
    assert recorder.calls[-1] == ("end", 0, 2)
    stopped = small().fit(X, Y, callbacks=[Recorder(after=2)])
    assert_same(quantiles(model), quantiles(stopped))


def test_ctrl_c_does_not_harm_the_model_of_follow_up():
    model = small().fit(X, Y, callbacks=[Recorder(KeyboardInterrupt(), after=1)])
    x = model.models_[0].feature_scale.apply(X)
    assert_same(model._follow_up.limit(x), small().fit(X, Y)._follow_up.limit(x))


def test_ctrl_c_ends_the_members_after_it_and_leaves_them_out():
    model = small(n_members=3).fit(X, Y, callbacks=[Recorder(KeyboardInterrupt(), after=2)])
    stopped = small().fit(X, Y, callbacks=[Recorder(after=2)])
    assert_same(quantiles(model), quantiles(stopped))
    assert model.history_ == stopped.history_


def test_ctrl_c_ends_members_in_threads_and_keeps_those_that_began():
    recorder = Recorder(KeyboardInterrupt(), after=2)
    model = small(n_members=4, n_jobs=2, max_epochs=1000).fit(X, Y, callbacks=[recorder])
    assert 1 <= len(model.models_) <= 4
    histories = [list(records) for _, records in groupby(model.history_, lambda r: r.get("member"))]
    assert len(histories) == len(model.models_)
    assert all(len(history) < 1000 for history in histories)


# Checkpoints


@pytest.mark.parametrize(
    "parameters",
    [{}, {"dropout": 0.3}, {"head": "increasing"}, {"n_members": 2}, {"early_stopping": True}],
    ids=str,
)
def test_a_stopped_fit_goes_on_to_the_same_bits(tmp_path, parameters):
    whole = small(max_epochs=8, **parameters).fit(X, Y)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=2)
    interruption = Recorder(KeyboardInterrupt(), after=5)
    early = small(max_epochs=8, **parameters)
    early.fit(X, Y, callbacks=[interruption], checkpoint=checkpoint)
    assert (quantiles(early) != quantiles(whole)).any()
    resumed = small(max_epochs=8, **parameters)
    watcher = Recorder()
    resumed.fit(X, Y, callbacks=[watcher], checkpoint=checkpoint)
    # Member 0 was stopped after its fifth epoch and does none of them again.
    assert min(n for kind, member, n in watcher.calls if kind == "epoch" and member == 0) == 6
    assert_same(quantiles(resumed), quantiles(whole))
    assert resumed.history_ == whole.history_


def test_every_member_has_a_file_of_its_own(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=2)
    small(n_members=3).fit(X, Y, checkpoint=checkpoint)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.1", "run.ckpt.2"]


@pytest.mark.parametrize(
    "change", [{"learning_rate": 0.02}, {"y_star": None}, {"hidden_layer_sizes": (9,)}], ids=str
)
def test_the_checkpoint_of_another_fit_is_refused(tmp_path, change):
    path = tmp_path / "run.ckpt"
    small().fit(X, Y, checkpoint=Checkpoint(path, every=2))
    message = "belongs to another training (other rows, settings or method); delete it or give"
    with pytest.raises(ModelFileError) as caught:
        small(**change).fit(X, Y, checkpoint=Checkpoint(path, every=2))
    assert message in str(caught.value)
    with pytest.raises(ModelFileError):
        small().fit(X[1:], Y[1:], checkpoint=Checkpoint(path, every=2))


# Early stopping


def test_early_stopping_waits_for_no_better_epoch_and_keeps_the_best():
    model = small(
        early_stopping=True, validation_fraction=0.3, n_iter_no_change=3, max_epochs=300,
        learning_rate=0.05,
    ).fit(X, Y)  # fmt: skip
    losses = [record["validation_loss"] for record in model.history_]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 3 < 300
    # Stopped at the best epoch, the same training has the weights that were put back.
    until_best = small(
        early_stopping=True, validation_fraction=0.3, n_iter_no_change=3, max_epochs=300,
        learning_rate=0.05,
    ).fit(X, Y, callbacks=[Recorder(after=best + 1)])  # fmt: skip
    assert_same(quantiles(model), quantiles(until_best))


def test_the_rows_held_out_depend_on_the_fraction():
    assert_all_differ(
        *(fitted(early_stopping=True, validation_fraction=f) for f in (0.1, 0.2)), fitted()
    )


def test_holding_out_needs_events_on_both_sides():
    message = (
        "^early_stopping needs events among the 0.1 of rows held out and among the others, got 2 "
        "events in all: give more data, another validation_fraction, or early_stopping=False.$"
    )
    with pytest.raises(ValueError, match=message):
        small(early_stopping=True).fit(X[:20], (Y["time"][:20], [True] * 2 + [False] * 18))


# Divergence


@pytest.mark.parametrize("head", ["free", "increasing"])
def test_a_training_that_diverges_says_so_and_leaves_no_fit(head):
    model = small(learning_rate=1e30, head=head, max_epochs=10)
    message = (
        r"^Training diverged in epoch \d+: the loss is [a-z0-9.+]+. Lower learning_rate "
        r"\(now 1e\+30\) or check the features for extreme values.$"
    )
    with pytest.raises(TrainingDivergedError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "quantiles_")


def test_a_member_that_diverges_in_a_thread_says_so():
    with pytest.raises(TrainingDivergedError):
        small(learning_rate=1e30, n_members=3, n_jobs=2).fit(X, Y)


def test_a_second_fit_forgets_the_first():
    model = small().fit(X[:50, :1], Y[:50])
    model.fit(X, Y)
    assert model.n_features_in_ == 2
    assert_same(quantiles(model), fitted())


def test_what_is_known_of_follow_up_is_its_first_and_last_time():
    assert small().fit(X, Y).follow_up_ == (SMALLEST, LARGEST)
