"""Plans are run and saved, whatever ends them; what is finished is not recomputed."""

import threading
import time
import warnings

import joblib
import pytest

from benchmark_cells import Global, Median, Sleepy, cell
from censquant import CQRNN
from censquant.datasets import load_gbsg2
from censquant_bench import (
    BenchmarkCell,
    BenchmarkDataset,
    BenchmarkMethod,
    ResultsFile,
    get_dataset,
    get_method,
    own_dataset,
    own_method,
    run_plan,
)
from censquant_bench._cells import FIRST_SEED, run_cell
from censquant_bench._run import _one_by_one


def test_rows_come_in_the_order_of_the_plan():
    cells = [cell("excl_censor", seeds=(112, 111)), cell()]
    rows = run_plan(cells, n_jobs=1)
    assert [(row["method"], row["seed"]) for row in rows] == [
        ("excl_censor", 112), ("excl_censor", 111), ("cqrnn", 111), ("cqrnn", 112),
    ]  # fmt: skip


def test_workers_and_threads_give_the_same_rows():
    cells = [cell("excl_censor"), cell("deepquantreg")]
    alone, workers = (run_plan(cells, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert [row["uql"] for row in alone] == [row["uql"] for row in workers]
    # Fits at a time, by the clock: one a worker, less what lies between two fits.
    assert all(0 < row["n_slots"] <= 1 for row in alone)
    assert all(0 < row["n_slots"] <= 2 for row in workers)


@pytest.mark.parametrize(("n_jobs", "allowed"), [(1, 1), (2, 2), (3, 3)])
def test_no_more_fits_run_at_a_time_than_jobs(monkeypatch, n_jobs, allowed):
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


def test_code_with_state_of_the_whole_process_never_runs_twice_at_a_time():
    alone, together = (
        run_plan(
            [
                BenchmarkCell(
                    "main", get_dataset("weibull"), own_method("g", Global()), seeds=(1, 2, 3)
                )
            ],
            n_jobs=n_jobs,
            backend="threading",
        )
        for n_jobs in (1, 3)
    )
    assert [row["uql"] for row in alone] == [row["uql"] for row in together]


def test_seeds_of_such_code_go_to_processes_of_their_own():
    one = BenchmarkCell("main", get_dataset("weibull"), own_method("g", Global()), seeds=(1, 2, 3))
    both = [(one, (1, 2, 3)), (cell(), (111, 112))]
    spread = _one_by_one(both, threads=True)
    assert spread == [(one, (1,)), (one, (2,)), (one, (3,)), both[1]]
    assert len(_one_by_one(both, threads=False)) == 5


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_backend_may_be_chosen(backend):
    cells = [cell("excl_censor", seeds=(111,)), cell("deepquantreg", seeds=(111,))]
    assert len(run_plan(cells, n_jobs=2, backend=backend)) == 2


def test_a_backend_around_the_run_is_used():
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


def test_other_data_or_parameters_under_the_same_name_are_refused(tmp_path):
    X, y = load_gbsg2(as_frame=False)
    out = tmp_path / "rows.jsonl"

    def run_with(n_rows, fails=""):
        dataset = own_dataset("mine", X[:n_rows], y[:n_rows], taus=[0.25, 0.5])
        return run_plan([BenchmarkCell("main", dataset, own_method("me", Median(fails)))], out=out)

    first = run_with(600)
    assert run_with(600)[0]["fit_seconds"] == first[0]["fit_seconds"]
    for changed in ({"n_rows": 300}, {"n_rows": 600, "fails": "prediction"}):
        with pytest.raises(ValueError, match=r"The results hold runs o[nf] '(mine|me)' that"):
            run_with(**changed)


def test_other_data_are_refused_whatever_the_method(tmp_path):
    X, y = load_gbsg2(as_frame=False)
    out = tmp_path / "rows.jsonl"

    def run_with(data, method):
        dataset = own_dataset("mine", data, y, taus=[0.25, 0.5])
        run_plan([BenchmarkCell("main", dataset, own_method(method, Median()))], out=out)

    run_with(X, "me")
    run_with(X, "you")
    with pytest.raises(ValueError, match=r"runs on 'mine' that were made of other data"):
        run_with(X[::-1], "others")


def test_many_seeds_are_saved_ten_at_a_time(tmp_path):
    one = BenchmarkCell("main", get_dataset("weibull"), own_method("me", Median()), seeds=range(23))
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


def test_no_more_slots_are_counted_than_fits_run():
    one = [cell(seeds=(111,))]
    assert run_plan(one, n_jobs=-1)[0]["n_slots"] <= 1


def test_the_seconds_of_the_machine_are_those_of_the_clock():
    method = BenchmarkMethod("s", "S", lambda *asked: Sleepy(), threadsafe=True)
    rows = run_cell(BenchmarkCell("main", get_dataset("weibull"), method), [1, 2, 3], n_threads=2)
    # Three fits of 0.1 s on two threads take 0.2 s, as the third has to wait for its turn.
    assert sum(row["fit_seconds"] / row["n_slots"] for row in rows) >= 0.2


def test_jobs_must_not_be_zero():
    with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
        run_plan([cell()], n_jobs=0)


def test_when_no_data_can_be_had_the_run_ends_with_the_reason():
    def draw(seed, split, n_train):
        raise ConnectionError("'x/y.h5' could not be downloaded; put it there.")

    absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
    with pytest.raises(ConnectionError, match=r"^'x/y.h5' could not be downloaded"):
        run_plan([BenchmarkCell("main", absent, get_method("cqrnn"))], n_jobs=1)


def test_rows_of_other_sets_in_the_file_do_not_hide_that_nothing_was_run(tmp_path):
    out = tmp_path / "rows.jsonl"
    run_plan([cell(seeds=(111,))], out=out, n_jobs=1)

    def draw(seed, split, n_train):
        raise ValueError("'x/y.h5' is damaged.")

    absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
    with pytest.raises(ValueError, match=r"'x/y.h5' is damaged"):
        run_plan([BenchmarkCell("main", absent, get_method("cqrnn"))], out=out, n_jobs=1)


def test_only_missing_rows_are_made(tmp_path, monkeypatch):
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
def test_a_set_whose_files_cannot_be_used_is_left_out_and_named(kind, n_jobs):
    def draw(seed, split, n_train):
        raise kind("'x/y.h5' could not be read; put it there.")

    absent = BenchmarkDataset("absent", "Absent", "survival", (0.5,), draw)
    cells = [BenchmarkCell("main", absent, get_method("cqrnn")), cell("excl_censor", seeds=(111,))]
    with pytest.warns(UserWarning, match=r"Absent was left out: 'x/y.h5' could not be"):
        rows = run_plan(cells, n_jobs=n_jobs, backend="threading")
    assert [row["dataset"] for row in rows] == ["norm_linear"]


def test_what_is_wrong_with_ones_own_data_is_said():
    def draw(seed, split, n_train):
        raise ValueError("too few rows")

    mine = BenchmarkDataset("mine", "Mine", "own", (0.5,), draw)
    with pytest.raises(ValueError, match="too few rows"):
        run_plan([BenchmarkCell("main", mine, get_method("cqrnn")), cell()], n_jobs=1)


def test_seeds_of_large_sets_are_saved_one_by_one(tmp_path):
    light = get_dataset("norm_linear")
    heavy = BenchmarkDataset("heavy", "Heavy", "overlay", light.taus, light.draw)
    sizes = []

    class Counting(ResultsFile):
        def append(self, rows):
            rows = list(rows)
            sizes.append(len(rows))
            super().append(rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("censquant_bench._run.ResultsFile", Counting)
        one = BenchmarkCell("main", heavy, own_method("mine", Median()), seeds=(1, 2, 3))
        run_plan([one], out=tmp_path / "rows.jsonl", n_jobs=1)
    assert sizes == [1, 1, 1]


def test_a_bar_is_shown_when_asked_for(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_plan([cell(seeds=(111,))], n_jobs=1, verbose=1)
    assert "1/1 runs" in capsys.readouterr().err.replace("\n", "")
