"""A cell is fitted and scored under its seeds; what fails leaves its reason."""

import math
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

from benchmark_cells import QUICK, Median, cell
from censquant import CQRNN
from censquant.datasets import load_gbsg2, make_norm_linear
from censquant_bench import (
    BenchmarkCell,
    get_dataset,
    get_method,
    own_dataset,
    own_method,
)
from censquant_bench._cells import run_cell
from censquant_bench._score import Answer, scores


def test_a_row_has_the_papers_scores_and_the_unbiased_ones():
    row = run_cell(cell(), [111])[0]
    assert row["dataset"] == "norm_linear"
    assert row["seed"] == 111
    assert row["error"] == ""
    for score in (
        "tqmse",
        "uql",
        "undcal",
        "cindex",
        "censdcal",
        "pinball",
        "crps",
        "coverage",
    ):
        assert math.isfinite(row[score]), score
    assert (row["n_train"], row["n_test"], row["n_levels"]) == (500, 1000, 9)
    assert row["n_steps"] == 2 * 4
    assert row["n_parameters"] == 200 + 100 * 101 + 101 * 9
    assert row["fit_seconds"] > 0
    assert row["plain_step_seconds"] > 0


def test_scores_are_those_of_the_metrics():
    row = run_cell(cell(), [111])[0]
    data = get_dataset("norm_linear").train_test(111)
    far = 1.2 * data.y["time"].max()
    model = get_method("cqrnn").build(get_dataset("norm_linear"), {**QUICK, "y_star": far}, 111)
    taus = np.asarray(get_dataset("norm_linear").taus)
    model.fit(data.X, data.y)
    raw = model.raw_quantiles(data.X_known)
    ordered = model.predict_quantiles(data.X_known, taus, beyond="extrapolate")
    true = data.true_quantiles(taus)
    judged = [0, 4, 8]
    assert row["crossing"] > 0
    assert row["cindex_restricted_mean"] == pytest.approx(model.score(data.X_test, data.y_test))
    assert row["tqmse"] == pytest.approx(((raw - true)[:, judged] ** 2).mean(), rel=1e-9)
    assert row["tqmse_all"] == pytest.approx(((ordered - true) ** 2).mean(), rel=1e-9)
    # Times of censoring are N(4x + 10, (0.8x + 0.4)^2).
    x = data.X_known
    beyond = (true > 4 * x + 10 + 2.0537489 * (0.8 * x + 0.4))[:, judged]
    assert 0 < row["beyond_share"] == pytest.approx(beyond.mean())
    squares = (raw - true)[:, judged] ** 2
    assert row["tqmse_identified"] == pytest.approx(squares[~beyond].mean(), rel=1e-9)
    assert row["tqmse_beyond"] == pytest.approx(squares[beyond].mean(), rel=1e-9)


def test_seeds_do_not_depend_on_their_neighbours_or_on_threads():
    together = run_cell(cell(), [111, 112], n_threads=2)
    alone = run_cell(cell(), [112])[0]
    same = ("tqmse", "uql", "cindex", "crps")
    assert [together[1][score] for score in same] == [alone[score] for score in same]


def test_the_sequential_grid_counts_all_its_networks():
    row = run_cell(cell("sequential_grid"), [111])[0]
    assert row["n_parameters"] == 9 * (200 + 100 * 101 + 101)
    assert row["n_steps"] == 9 * 2 * 4


def test_rows_without_a_positive_time_are_left_out_of_log_normal_fits():
    data = make_norm_linear(100, random_state=0)
    moved = data.y.copy()
    moved["time"] -= np.median(moved["time"])
    with pytest.warns(UserWarning, match="50 of 100 times are zero or less: methods that take"):
        dataset = own_dataset("mine", data.X, moved)
    row = run_cell(BenchmarkCell("main", dataset, get_method("lognorm"), options=QUICK), [1])[0]
    assert row["error"] == ""
    assert row["n_train"] == (dataset.train_test(1).y["time"] > 0).sum() < 80


def test_coverage_of_the_truth_is_nominal_or_said_to_be_unknown():
    """Weights alone give 0.42 for the true quantiles where follow-up is short."""
    nominal = 0.9
    for name, known in (("norm_medium", True), ("lognorm_heavy", False)):
        rows = []
        for seed in (111, 112, 113):
            data = get_dataset(name).train_test(seed)
            taus = np.asarray(get_dataset(name).taus)
            truth = data.true_quantiles(taus, data.X_test)
            rows.append(scores(data, taus, Answer(truth, truth)))
        assert all(math.isfinite(row["coverage"]) == known for row in rows)
        assert all(row["coverage_low"] < nominal < row["coverage_high"] for row in rows)
        if known:
            mean = np.mean([row["coverage"] for row in rows])
            assert mean == pytest.approx(nominal, abs=0.03)


def test_own_methods_see_the_names_of_own_columns():
    class Named(Median):
        def fit(self, X, y):
            self.names_ = list(X.columns)
            return super().fit(X, y)

        def predict_quantiles(self, X, quantiles):
            assert list(X.columns) == self.names_ == ["age", "size"]
            return super().predict_quantiles(X, quantiles)

    X = pd.DataFrame({"age": np.arange(50), "size": np.ones(50)})
    dataset = own_dataset("mine", X, np.arange(1.0, 51.0))
    for method in (own_method("named", Named()), get_method("cqrnn")):
        row = run_cell(BenchmarkCell("main", dataset, method), [1])[0]
        assert row["error"] == ""


@pytest.mark.parametrize("place", ["fit", "prediction"])
def test_a_method_that_fails_leaves_its_reason_and_no_scores(place):
    one = BenchmarkCell("main", get_dataset("weibull"), own_method("mine", Median(fails=place)))
    row = run_cell(one, [111])[0]
    assert row["error"] == "RuntimeError: no luck"
    assert math.isnan(row["fit_seconds"]) == (place == "fit")
    assert "cindex" not in row


def test_predictions_of_another_shape_are_a_failed_run():
    class Narrow(Median):
        def predict_quantiles(self, X, quantiles):
            return super().predict_quantiles(X, quantiles)[:, :2]

    row = run_cell(
        BenchmarkCell("main", get_dataset("weibull"), own_method("mine", Narrow())), [111]
    )[0]
    assert row["error"] == (
        "ValueError: predict_quantiles must return shape (1000, 9), got (1000, 2)."
    )


def test_own_predictions_that_cross_are_put_in_order():
    class Backwards(Median):
        def predict_quantiles(self, X, quantiles):
            return super().predict_quantiles(X, quantiles)[:, ::-1]

    there, back = (
        run_cell(BenchmarkCell("main", get_dataset("weibull"), own_method("mine", model)), [111])[0]
        for model in (Median(), Backwards())
    )
    assert there["coverage"] == back["coverage"]
    assert there["crps"] == back["crps"]


def test_levels_without_the_median_leave_its_scores_out():
    X, y = load_gbsg2(as_frame=False)
    dataset = own_dataset("mine", X, y, taus=[0.1, 0.25])
    row = run_cell(BenchmarkCell("main", dataset, own_method("me", Median())), [1])[0]
    assert not {"cindex", "cindex_ipcw", "mae_margin"} & set(row)
    assert math.isfinite(row["pinball"])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupted_fit_is_no_row(n_threads, monkeypatch):
    fits = []
    fit = CQRNN.fit

    def interrupted(self, X, y, **more):
        fits.append(self.random_state)
        if len(fits) == 2:  # the first is the warm-up
            signal.raise_signal(signal.SIGINT) if n_threads == 1 else os.kill(
                os.getpid(), signal.SIGINT
            )
        if len(fits) > 1:
            time.sleep(0.3)  # the thread that waits for fits looks for Ctrl-C ten times a second
        return fit(self, X, y, **more)

    monkeypatch.setattr(CQRNN, "fit", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell(seeds=range(111, 121)), range(111, 121), n_threads=n_threads)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(fits) < 8


def test_an_interrupt_that_was_ignored_before_stays_ignored(monkeypatch):
    """As under nohup, or behind a script's &."""
    fit = CQRNN.fit
    monkeypatch.setattr(
        CQRNN,
        "fit",
        lambda self, X, y: signal.raise_signal(signal.SIGINT) or fit(self, X, y),
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run_cell(cell(), [111])[0]["error"] == ""
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_a_fit_swallows_ends_the_cell(monkeypatch):
    fits = []

    def keeps_what_it_learned(self, X, y, **more):
        fits.append(self.random_state)
        try:
            if len(fits) == 2:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        return self

    monkeypatch.setattr(CQRNN, "fit", keeps_what_it_learned)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell(), [111, 112, 113])
    assert len(fits) == 2


def test_a_model_that_is_no_network_has_no_steps():
    row = run_cell(
        BenchmarkCell("main", get_dataset("weibull"), own_method("mine", Median())), [111]
    )[0]
    assert math.isnan(row["n_steps"])
    assert math.isnan(row["plain_step_seconds"])
    assert math.isfinite(row["tqmse"])
    assert row["crossing"] == 0.0


def test_a_traced_fit_notes_every_epoch():
    traced = BenchmarkCell(
        "partial_full", get_dataset("norm_linear"), get_method("cqrnn"), traced=True,
        options={"max_epochs": 3},
    )  # fmt: skip
    row = run_cell(traced, [111])[0]
    assert len(row["trace_tqmse"]) == len(row["trace_loss"]) == 3
    assert row["trace_tqmse"][-1] == pytest.approx(row["tqmse"], rel=1e-6)


def test_a_trace_needs_the_truth():
    X, y = load_gbsg2(as_frame=False)
    one = BenchmarkCell("partial_full", own_dataset("mine", X, y), get_method("cqrnn"), traced=True)
    with pytest.raises(ValueError, match="A trace needs a data set with known quantiles"):
        run_cell(one, [1])
