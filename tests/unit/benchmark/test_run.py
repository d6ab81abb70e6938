"""Cells are fitted, scored and saved; what fails says so; what is there is not made again."""

import math
import os
import signal
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from censquant import CQRNN
from censquant.benchmark import (
    BenchmarkDataset,
    BenchmarkMethod,
    ResultsFile,
    get_dataset,
    get_method,
    own_dataset,
    own_method,
    plan,
    run_plan,
)
from censquant.benchmark._cells import FIRST_SEED, Cell, run_cell
from censquant.benchmark._fitted import unordered_quantiles
from censquant.benchmark._run import _one_by_one
from censquant.benchmark._score import Answer, scores
from censquant.datasets import load_gbsg2, make_norm_linear

QUICK = {"max_epochs": 2}


def cell(method="cqrnn", dataset="norm_linear", seeds=(111, 112), **options):
    return Cell(
        "main", get_dataset(dataset), get_method(method), options=QUICK | options, seeds=seeds
    )


class Median(BaseEstimator):
    """Predicts multiples of the median time, and can be made to fail in fit or prediction."""

    def __init__(self, fails="", random_state=None):
        self.fails = fails
        self.random_state = random_state

    def fit(self, X, y):
        if self.fails == "fit":
            raise RuntimeError("no luck\n and much more about it")
        self.median_ = float(np.median(y["time"]))
        return self

    def predict_quantiles(self, X, quantiles):
        if self.fails == "prediction":
            raise RuntimeError("no luck")
        return self.median_ * (0.5 + np.tile(np.asarray(quantiles), (len(X), 1)))


class Sleepy(Median):
    """Takes a while to fit, as far as the clock can tell."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


class Global(Median):
    """Draws from the generator of the whole process."""

    def fit(self, X, y):
        np.random.seed(self.random_state)  # noqa: NPY002
        time.sleep(0.01)
        self.median_ = 1.0 + np.random.random()  # noqa: NPY002
        return self


class TestRows:
    def test_a_row_has_the_papers_scores_and_the_unbiased_ones(self):
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

    def test_scores_are_those_of_the_metrics(self):
        row = run_cell(cell(), [111])[0]
        problem = get_dataset("norm_linear").problem(111)
        far = 1.2 * problem.y["time"].max()
        model = get_method("cqrnn").build(get_dataset("norm_linear"), {**QUICK, "y_star": far}, 111)
        taus = np.asarray(get_dataset("norm_linear").taus)
        model.fit(problem.X, problem.y)
        raw = unordered_quantiles(model, problem.X_known, taus)
        ordered = model.predict_quantiles(problem.X_known, taus, beyond="extrapolate")
        true = problem.true_quantiles(taus)
        judged = [0, 4, 8]
        assert row["crossing"] > 0
        assert row["tqmse"] == pytest.approx(((raw - true)[:, judged] ** 2).mean(), rel=1e-9)
        assert row["tqmse_all"] == pytest.approx(((ordered - true) ** 2).mean(), rel=1e-9)

    def test_seeds_do_not_depend_on_their_neighbours_or_on_threads(self):
        together = run_cell(cell(), [111, 112], n_threads=2)
        alone = run_cell(cell(), [112])[0]
        same = ("tqmse", "uql", "cindex", "crps")
        assert [together[1][score] for score in same] == [alone[score] for score in same]

    def test_the_sequential_grid_counts_all_its_networks(self):
        row = run_cell(cell("sequential_grid"), [111])[0]
        assert row["n_parameters"] == 9 * (200 + 100 * 101 + 101)
        assert row["n_steps"] == 9 * 2 * 4

    def test_the_far_time_is_that_of_the_first_run(self, monkeypatch):
        seen = []
        monkeypatch.setattr(
            CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0
        )
        run_cell(cell(), [115])
        first = get_dataset("norm_linear").problem(FIRST_SEED).y["time"].max()
        own = get_dataset("norm_linear").problem(115).y["time"].max()
        assert seen[-1] == pytest.approx(max(1.2 * first, own), rel=1e-5)

    @pytest.mark.parametrize(
        ("method", "options", "expected"),
        [
            ("cqrnn_interpolated", {}, None),
            ("cqrnn", {"y_star": None}, None),
            ("cqrnn", {"y_star": 50.0}, 50.0),
            ("cqrnn", {"y_star": "2max"}, 2.0),
        ],
    )
    def test_a_far_time_is_changed_only_where_it_is_a_factor(
        self, monkeypatch, method, options, expected
    ):
        seen = []
        monkeypatch.setattr(
            CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0
        )
        run_cell(cell(method, **options), [111])
        latest = get_dataset("norm_linear").problem(FIRST_SEED).y["time"].max()
        if expected == 2.0:
            expected = pytest.approx(2.0 * latest)
        assert seen[-1] == expected

    def test_rows_without_a_positive_time_are_left_out_of_log_normal_fits(self):
        data = make_norm_linear(100, random_state=0)
        moved = data.y.copy()
        moved["time"] -= np.median(moved["time"])
        with pytest.warns(UserWarning, match="50 of 100 times are zero or less: methods that take"):
            dataset = own_dataset("mine", data.X, moved)
        row = run_cell(Cell("main", dataset, get_method("lognorm"), options=QUICK), [1])[0]
        assert row["error"] == ""
        assert row["n_train"] == (dataset.problem(1).y["time"] > 0).sum() < 80

    def test_coverage_of_the_truth_is_nominal_or_said_to_be_unknown(self):
        """Weights alone give 0.42 for the true quantiles where follow-up is short."""
        nominal = 0.9
        for name, known in (("norm_medium", True), ("lognorm_heavy", False)):
            rows = []
            for seed in (111, 112, 113):
                problem = get_dataset(name).problem(seed)
                taus = np.asarray(get_dataset(name).taus)
                truth = problem.true_quantiles(taus, problem.X_test)
                rows.append(scores(problem, taus, Answer(truth, truth)))
            assert all(math.isfinite(row["coverage"]) == known for row in rows)
            assert all(row["coverage_low"] < nominal < row["coverage_high"] for row in rows)
            if known:
                mean = np.mean([row["coverage"] for row in rows])
                assert mean == pytest.approx(nominal, abs=0.03)

    def test_own_methods_see_the_names_of_own_columns(self):
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
            row = run_cell(Cell("main", dataset, method), [1])[0]
            assert row["error"] == ""

    @pytest.mark.parametrize("place", ["fit", "prediction"])
    def test_a_method_that_fails_leaves_its_reason_and_no_scores(self, place):
        one = Cell("main", get_dataset("weibull"), own_method("mine", Median(fails=place)))
        row = run_cell(one, [111])[0]
        assert row["error"] == "RuntimeError: no luck"
        assert math.isnan(row["fit_seconds"]) == (place == "fit")
        assert "cindex" not in row

    def test_predictions_of_another_shape_are_a_failed_run(self):
        class Narrow(Median):
            def predict_quantiles(self, X, quantiles):
                return super().predict_quantiles(X, quantiles)[:, :2]

        row = run_cell(Cell("main", get_dataset("weibull"), own_method("mine", Narrow())), [111])[0]
        assert row["error"] == (
            "ValueError: predict_quantiles must return shape (1000, 9), got (1000, 2)."
        )

    def test_own_predictions_that_cross_are_put_in_order(self):
        class Backwards(Median):
            def predict_quantiles(self, X, quantiles):
                return super().predict_quantiles(X, quantiles)[:, ::-1]

        there, back = (
            run_cell(Cell("main", get_dataset("weibull"), own_method("mine", model)), [111])[0]
            for model in (Median(), Backwards())
        )
        assert there["coverage"] == back["coverage"]
        assert there["crps"] == back["crps"]

    def test_levels_without_the_median_leave_its_scores_out(self):
        X, y = load_gbsg2(as_frame=False)
        dataset = own_dataset("mine", X, y, taus=[0.1, 0.25])
        row = run_cell(Cell("main", dataset, own_method("me", Median())), [1])[0]
        assert not {"cindex", "cindex_ipcw", "mae_margin"} & set(row)
        assert math.isfinite(row["pinball"])

    @pytest.mark.parametrize(
        "options",
        [{"activation": "tanh"}, {"hidden_layer_sizes": (8,)}, {"batch_size": 32}],
    )
    def test_only_the_papers_network_is_timed_beside_the_plain_loop(self, options):
        mine = own_method("mine", CQRNN(max_epochs=1, **options))
        row = run_cell(Cell("main", get_dataset("weibull"), mine), [111])[0]
        assert row["error"] == ""
        assert math.isnan(row["plain_step_seconds"])

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_an_interrupted_fit_is_no_row(self, n_threads, monkeypatch):
        fits = []
        fit = CQRNN.fit

        def interrupted(self, X, y, **more):
            fits.append(self.random_state)
            if len(fits) == 2:  # the first is the warm-up
                signal.raise_signal(signal.SIGINT) if n_threads == 1 else os.kill(
                    os.getpid(), signal.SIGINT
                )
            return fit(self, X, y, **more)

        monkeypatch.setattr(CQRNN, "fit", interrupted)
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            run_cell(cell(seeds=range(111, 121)), range(111, 121), n_threads=n_threads)
        assert signal.getsignal(signal.SIGINT) is before
        assert len(fits) < 8

    def test_an_interrupt_that_was_ignored_before_stays_ignored(self, monkeypatch):
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

    def test_an_interrupt_that_a_fit_swallows_ends_the_cell(self, monkeypatch):
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

    def test_a_model_that_is_no_network_has_no_steps(self):
        row = run_cell(Cell("main", get_dataset("weibull"), own_method("mine", Median())), [111])[0]
        assert math.isnan(row["n_steps"])
        assert math.isnan(row["plain_step_seconds"])
        assert math.isfinite(row["tqmse"])
        assert row["crossing"] == 0.0

    def test_a_traced_fit_notes_every_epoch(self):
        traced = Cell(
            "partial_full", get_dataset("norm_linear"), get_method("cqrnn"), traced=True,
            options={"max_epochs": 3},
        )  # fmt: skip
        row = run_cell(traced, [111])[0]
        assert len(row["trace_tqmse"]) == len(row["trace_loss"]) == 3
        assert row["trace_tqmse"][-1] == pytest.approx(row["tqmse"], rel=1e-6)

    def test_a_trace_needs_the_truth(self):
        X, y = load_gbsg2(as_frame=False)
        one = Cell("partial_full", own_dataset("mine", X, y), get_method("cqrnn"), traced=True)
        with pytest.raises(ValueError, match="A trace needs a data set with known quantiles"):
            run_cell(one, [1])


class TestPlans:
    def test_rows_come_in_the_order_of_the_plan(self):
        cells = [cell("excl_censor", seeds=(112, 111)), cell()]
        rows = run_plan(cells, n_jobs=1)
        assert [(row["method"], row["seed"]) for row in rows] == [
            ("excl_censor", 112), ("excl_censor", 111), ("cqrnn", 111), ("cqrnn", 112),
        ]  # fmt: skip

    def test_workers_and_threads_give_the_same_rows(self):
        cells = [cell("excl_censor"), cell("deepquantreg")]
        alone, workers = (run_plan(cells, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert [row["uql"] for row in alone] == [row["uql"] for row in workers]
        # Fits at a time, by the clock: one a worker, less what lies between two fits.
        assert all(0 < row["n_slots"] <= 1 for row in alone)
        assert all(0 < row["n_slots"] <= 2 for row in workers)

    @pytest.mark.parametrize(("n_jobs", "allowed"), [(1, 1), (2, 2), (3, 3)])
    def test_no_more_fits_run_at_a_time_than_jobs(self, monkeypatch, n_jobs, allowed):
        running, most, guard = [0], [0], threading.Lock()

        def fit(self, X, y):
            with guard:
                running[0] += 1
                most[0] = max(most[0], running[0])
            time.sleep(0.05)
            with guard:
                running[0] -= 1
            raise RuntimeError("only counted")

        monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
        monkeypatch.setattr(CQRNN, "fit", fit)
        run_plan([cell(seeds=tuple(range(6)))], n_jobs=n_jobs, backend="threading")
        assert most[0] == allowed

    def test_code_with_state_of_the_whole_process_never_runs_twice_at_a_time(self):
        alone, together = (
            run_plan(
                [Cell("main", get_dataset("weibull"), own_method("g", Global()), seeds=(1, 2, 3))],
                n_jobs=n_jobs,
                backend="threading",
            )
            for n_jobs in (1, 3)
        )
        assert [row["uql"] for row in alone] == [row["uql"] for row in together]

    def test_seeds_of_such_code_go_to_processes_of_their_own(self):
        one = Cell("main", get_dataset("weibull"), own_method("g", Global()), seeds=(1, 2, 3))
        both = [(one, (1, 2, 3)), (cell(), (111, 112))]
        spread = _one_by_one(both, threads=True)
        assert spread == [(one, (1,)), (one, (2,)), (one, (3,)), both[1]]
        assert len(_one_by_one(both, threads=False)) == 5

    @pytest.mark.parametrize("backend", ["threading", "loky"])
    def test_the_backend_may_be_chosen(self, backend):
        cells = [cell("excl_censor", seeds=(111,)), cell("deepquantreg", seeds=(111,))]
        assert len(run_plan(cells, n_jobs=2, backend=backend)) == 2

    def test_a_backend_around_the_run_is_used(self):
        used = []

        class Watched(joblib._parallel_backends.ThreadingBackend):
            def configure(self, *arguments, **options):
                used.append(True)
                return super().configure(*arguments, **options)

        joblib.register_parallel_backend("watched", Watched)
        cells = [cell("excl_censor", seeds=(111,)), cell("deepquantreg", seeds=(111,))]
        with joblib.parallel_config(backend="watched"):
            rows = run_plan(cells, n_jobs=2)
        assert used
        assert len(rows) == 2

    def test_other_data_or_parameters_under_the_same_name_are_refused(self, tmp_path):
        X, y = load_gbsg2(as_frame=False)
        out = tmp_path / "rows.jsonl"

        def run_with(n_rows, fails=""):
            dataset = own_dataset("mine", X[:n_rows], y[:n_rows], taus=[0.25, 0.5])
            return run_plan([Cell("main", dataset, own_method("me", Median(fails)))], out=out)

        first = run_with(600)
        assert run_with(600)[0]["fit_seconds"] == first[0]["fit_seconds"]
        for changed in ({"n_rows": 300}, {"n_rows": 600, "fails": "prediction"}):
            with pytest.raises(ValueError, match=r"The results hold runs o[nf] '(mine|me)' that"):
                run_with(**changed)

    def test_other_data_are_refused_whatever_the_method(self, tmp_path):
        X, y = load_gbsg2(as_frame=False)
        out = tmp_path / "rows.jsonl"

        def run_with(data, method):
            dataset = own_dataset("mine", data, y, taus=[0.25, 0.5])
            run_plan([Cell("main", dataset, own_method(method, Median()))], out=out)

        run_with(X, "me")
        run_with(X, "you")
        with pytest.raises(ValueError, match=r"runs on 'mine' that were made of other data"):
            run_with(X[::-1], "others")

    def test_many_seeds_are_saved_ten_at_a_time(self, tmp_path):
        one = Cell("main", get_dataset("weibull"), own_method("me", Median()), seeds=range(23))
        with pytest.MonkeyPatch.context() as patch:
            sizes = []
            append = ResultsFile.append
            patch.setattr(
                ResultsFile,
                "append",
                lambda self, rows: sizes.append(len(rows)) or append(self, rows),
            )
            run_plan([one], out=tmp_path / "rows.jsonl", n_jobs=1)
        assert sizes == [10, 10, 3]

    def test_no_more_slots_are_counted_than_fits_run(self):
        one = [cell(seeds=(111,))]
        assert run_plan(one, n_jobs=-1)[0]["n_slots"] <= 1

    def test_the_seconds_of_the_machine_are_those_of_the_clock(self):
        method = BenchmarkMethod("s", "S", lambda *asked: Sleepy(), threadsafe=True)
        rows = run_cell(Cell("main", get_dataset("weibull"), method), [1, 2, 3], n_threads=2)
        # Three fits of 0.1 s on two threads take 0.2 s, as the third has to wait for its turn.
        assert sum(row["fit_seconds"] / row["n_slots"] for row in rows) >= 0.2

    def test_jobs_must_not_be_zero(self):
        with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
            run_plan([cell()], n_jobs=0)

    def test_when_no_data_can_be_had_the_run_ends_with_the_reason(self):
        def draw(seed, split, n_train):
            raise ConnectionError("'x/y.h5' could not be downloaded; put it there.")

        absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
        with pytest.raises(ConnectionError, match=r"^'x/y.h5' could not be downloaded"):
            run_plan([Cell("main", absent, get_method("cqrnn"))], n_jobs=1)

    def test_rows_of_other_sets_in_the_file_do_not_hide_that_nothing_was_run(self, tmp_path):
        out = tmp_path / "rows.jsonl"
        run_plan([cell(seeds=(111,))], out=out, n_jobs=1)

        def draw(seed, split, n_train):
            raise ValueError("'x/y.h5' is damaged.")

        absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
        with pytest.raises(ValueError, match=r"'x/y.h5' is damaged"):
            run_plan([Cell("main", absent, get_method("cqrnn"))], out=out, n_jobs=1)

    def test_only_missing_rows_are_made(self, tmp_path, monkeypatch):
        out = tmp_path / "rows.jsonl"
        first = run_plan([cell(seeds=(111,))], out=out, n_jobs=1)
        fitted = []
        fit = CQRNN.fit
        monkeypatch.setattr(
            CQRNN,
            "fit",
            lambda self, X, y, **more: fitted.append(self.random_state) or fit(self, X, y, **more),
        )
        rows = run_plan([cell(seeds=(111, 112))], out=out, n_jobs=1)
        assert rows[0] == first[0]
        assert set(fitted) == {FIRST_SEED, 112}  # the first is the warm-up
        with ResultsFile(out) as results:
            assert len(results.rows) == 2
        fitted.clear()
        assert run_plan([cell(seeds=(111, 112))], out=out, n_jobs=1) == rows
        assert not fitted

    @pytest.mark.parametrize("kind", [ConnectionError, ValueError, ImportError])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_a_set_whose_files_cannot_be_used_is_left_out_and_named(self, kind, n_jobs):
        def draw(seed, split, n_train):
            raise kind("'x/y.h5' could not be read; put it there.")

        absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
        cells = [Cell("main", absent, get_method("cqrnn")), cell("excl_censor", seeds=(111,))]
        with pytest.warns(UserWarning, match=r"Absent was left out: 'x/y.h5' could not be"):
            rows = run_plan(cells, n_jobs=n_jobs, backend="threading")
        assert [row["dataset"] for row in rows] == ["norm_linear"]

    def test_what_is_wrong_with_ones_own_data_is_said(self):
        def draw(seed, split, n_train):
            raise ValueError("too few rows")

        mine = BenchmarkDataset("mine", "Mine", "own", (0.5,), draw)
        with pytest.raises(ValueError, match="too few rows"):
            run_plan([Cell("main", mine, get_method("cqrnn")), cell()], n_jobs=1)

    def test_seeds_of_large_sets_are_saved_one_by_one(self, tmp_path):
        light = get_dataset("norm_linear")
        heavy = BenchmarkDataset("heavy", "Heavy", "overlay", light.taus, light.draw)
        sizes = []

        class Counting(ResultsFile):
            def append(self, rows):
                rows = list(rows)
                sizes.append(len(rows))
                super().append(rows)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("censquant.benchmark._run.ResultsFile", Counting)
            one = Cell("main", heavy, own_method("mine", Median()), seeds=(1, 2, 3))
            run_plan([one], out=tmp_path / "rows.jsonl", n_jobs=1)
        assert sizes == [1, 1, 1]

    def test_a_bar_is_shown_when_asked_for(self, capsys):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run_plan([cell(seeds=(111,))], n_jobs=1, verbose=1)
        assert "1/1 runs" in capsys.readouterr().err.replace("\n", "")


class TestSuites:
    def test_main_has_the_papers_sets_and_both_splits_where_rows_repeat(self):
        cells = plan("main")
        assert len({cell.dataset.name for cell in cells}) == 26
        assert {one.split for one in cells if one.dataset.name == "whas"} == {"random", "grouped"}
        assert {one.split for one in cells if one.dataset.name == "gbsg"} == {"random"}
        assert all(one.seeds == tuple(range(111, 121)) for one in cells)

    def test_the_sequential_suite_has_two_hundred_and_fifty_runs(self):
        runs = {one.dataset.name: len(one.seeds) for one in plan("sequential")}
        assert (runs["weibull"], runs["gbsg"]) == (200, 50)

    def test_the_grid_suite_makes_as_many_steps_on_every_sample(self):
        cells = plan("grid", datasets=["weibull"])
        assert len(cells) == 24
        assert {one.n_train * one.options["max_epochs"] for one in cells} <= set(
            range(94_000, 106_001)
        )
        assert {len(one.options["quantiles"]) for one in cells} == {9, 19, 39}
        assert all(0.5 in one.options["quantiles"] for one in cells)

    def test_variants_have_names_of_their_own(self):
        for suite in ("grid", "ystar", "crossing", "interpolation", "partial_full"):
            cells = plan(suite, seeds=1)
            keys = [one.key(111) for one in cells]
            assert len(set(keys)) == len(keys)

    def test_kinds_stand_for_their_sets(self):
        names = {cell.dataset.name for cell in plan("main", datasets=["small"], methods=["cqrnn"])}
        assert len(names) == 21
        assert "housing" not in names

    def test_wanted_splits_are_kept_where_they_exist(self):
        with pytest.warns(UserWarning, match="There is no grouped split of gbsg: left out"):
            cells = plan("main", datasets=["whas", "gbsg"], methods=["cqrnn"], splits=["grouped"])
        assert [(one.dataset.name, one.split) for one in cells] == [("whas", "grouped")]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"datasets": [([[1.0]], [1.0])]}, "datasets must hold names.*got tuple"),
            ({"methods": [CQRNN()]}, "methods must hold names, or what own_method returns.*CQRNN"),
        ],
    )
    def test_what_is_no_set_and_no_method_is_told_what_to_call(self, options, message):
        with pytest.raises(TypeError, match=message):
            plan("main", **options)

    def test_a_peer_that_is_not_installed_is_named_before_anything_is_fitted(self, monkeypatch):
        monkeypatch.setattr("censquant.benchmark.peers._registry.find_spec", lambda name: None)
        with pytest.raises(ModuleNotFoundError, match="needs lifelines, which is not installed"):
            plan("main", datasets=["weibull"], methods=["cqrnn", "lifelines_cox"])

    def test_copies_meet_peers_by_groups_too(self):
        cells = plan("peers", datasets=["whas", "gbsg"], methods=["cqrnn"])
        found = [(one.dataset.name, one.split) for one in cells]
        assert found == [("whas", "random"), ("whas", "grouped"), ("gbsg", "random")]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"suite": "mian"}, "There is no suite 'mian'; did you mean main"),
            ({"datasets": ["gbgs"]}, "There is no dataset 'gbgs'; did you mean gbsg"),
            ({"methods": ["lognormal"]}, "There is no method 'lognormal'; did you mean lognorm"),
            ({"splits": ["group"]}, "There is no split 'group'; did you mean grouped"),
            ({"seeds": 0}, "seeds must be at least 1, got 0"),
            ({"datasets": []}, "There is nothing to run: datasets and methods must name"),
            ({"methods": []}, "There is nothing to run: datasets and methods must name"),
            (
                {"datasets": "gbsg", "splits": "grouped"},
                "There is no grouped split of gbsg; censquant bench --list says which there are",
            ),
            (
                {"suite": "ystar", "methods": ["lognorm"]},
                "The suite 'ystar' varies y_star, which the method 'lognorm' does not have",
            ),
            (
                {"suite": "grid", "methods": ["sksurv_cox"]},
                "varies max_epochs, quantiles, which the method 'sksurv_cox' does not have",
            ),
            (
                {"suite": "grid", "datasets": ["gbsg"]},
                "The suite 'grid' varies the number of rows, so its sets must be synthetic, got",
            ),
        ],
    )
    def test_wrong_words_get_a_sentence(self, options, message):
        with pytest.raises(ValueError, match=message):
            plan(**options)

    def test_a_method_named_twice_is_run_once(self):
        assert len(plan("main", datasets=["weibull"], methods=["cqrnn", "cqrnn"])) == 1

    def test_a_single_name_may_stand_alone(self):
        assert len(plan("main", datasets="weibull", methods="cqrnn")) == 1

    def test_two_things_of_one_name_are_refused(self):
        X, y = load_gbsg2(as_frame=False)
        twice = [own_dataset("mine", X, y), own_dataset("mine", X, y)]
        with pytest.raises(ValueError, match="Two data sets are called 'mine'"):
            plan("main", datasets=twice, methods=["cqrnn"])
        ways = [own_method("me", Median()), own_method("me", Median())]
        with pytest.raises(ValueError, match="Two methods are called 'me'"):
            plan("main", datasets=["weibull"], methods=ways)

    def test_peers_are_the_ones_installed(self):
        names = {one.method.name for one in plan("peers", datasets=["weibull"])}
        assert {"cqrnn", "sksurv_cox", "lifelines_weibull"} <= names


class TestBackends:
    CELLS = (("excl_censor", (111,)), ("deepquantreg", (111,)))

    def cells(self):
        return [cell(method, seeds=seeds) for method, seeds in self.CELLS]

    def test_dask_gives_the_rows_of_one_process(self):
        expected = [row["uql"] for row in run_plan(self.cells(), n_jobs=1)]
        import distributed

        with (
            warnings.catch_warnings(),
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
            ) as cluster,
        ):
            warnings.simplefilter("ignore")  # dask's own, of its ports and event loops
            rows = run_plan(self.cells(), backend="dask", address=cluster.scheduler_address)
            with distributed.Client(cluster):
                again = run_plan(self.cells(), backend="dask")
        assert [row["uql"] for row in rows] == [row["uql"] for row in again] == expected

    def test_a_backend_that_returns_all_at_once_gets_a_few_tasks_at_a_time(self):
        sizes = []

        class AllAtOnce(joblib._parallel_backends.ThreadingBackend):
            supports_return_generator = False

            def start_call(self):
                sizes.append(self.parallel.n_jobs)

        joblib.register_parallel_backend("all_at_once", AllAtOnce)
        cells = [cell("excl_censor", seeds=(seed,)) for seed in (111, 112, 113)]
        rows = run_plan(cells, n_jobs=2, backend="all_at_once")
        assert [row["seed"] for row in rows] == [111, 112, 113]
        assert len(sizes) == 2

    def test_an_unknown_backend_is_refused(self):
        with pytest.raises(ValueError, match=r"backend must be one that joblib knows.*got 'mpi'"):
            run_plan(self.cells(), backend="mpi")

    def test_an_address_needs_a_cluster(self):
        with pytest.raises(ValueError, match="address belongs to the backends dask and ray"):
            run_plan(self.cells(), backend="loky", address="tcp://127.0.0.1:8786")

    @pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
    def test_a_cluster_without_its_package_says_how_to_get_it(self, backend, package, monkeypatch):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"not installed: run pip install {package}"):
            run_plan(self.cells(), backend=backend)
