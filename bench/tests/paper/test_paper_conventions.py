"""Habits of the published runs, and the plain loop that training times are compared with."""

import math
from dataclasses import replace

import pytest

from benchmark_cells import cell
from censquant import CQRNN
from censquant.datasets import load_gbsg2
from censquant_bench import (
    BenchmarkCell,
    RunConventions,
    get_dataset,
    own_dataset,
    own_method,
)
from censquant_bench._cells import FIRST_SEED, run_cell
from censquant_bench.paper import PAPER_SUITES, PaperConventions


def test_the_far_time_is_that_of_the_first_run(monkeypatch):
    seen = []
    monkeypatch.setattr(CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0)
    run_cell(cell(), [115])
    first = get_dataset("norm_linear").train_test(FIRST_SEED).y["time"].max()
    own = get_dataset("norm_linear").train_test(115).y["time"].max()
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
def test_a_far_time_is_changed_only_where_it_is_a_factor(monkeypatch, method, options, expected):
    seen = []
    monkeypatch.setattr(CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0)
    run_cell(cell(method, **options), [111])
    latest = get_dataset("norm_linear").train_test(FIRST_SEED).y["time"].max()
    if expected == 2.0:
        expected = pytest.approx(2.0 * latest)
    assert seen[-1] == expected


@pytest.mark.parametrize(
    "options",
    [{"activation": "tanh"}, {"hidden_layer_sizes": (8,)}, {"batch_size": 32}],
)
def test_only_the_papers_network_is_timed_beside_the_plain_loop(options):
    mine = own_method("mine", CQRNN(max_epochs=1, **options))
    dataset = get_dataset("weibull")
    one = BenchmarkCell("main", dataset, mine, conventions=PaperConventions())
    row = run_cell(one, [111])[0]
    assert row["error"] == ""
    assert math.isnan(row["plain_step_seconds"])


def test_without_the_papers_conventions_each_run_keeps_its_own_far_time(monkeypatch):
    seen = []
    monkeypatch.setattr(CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0)
    one = replace(cell(), conventions=RunConventions())
    (row,) = run_cell(one, [115])
    assert seen[-1] == "1.2max"
    assert math.isnan(row["plain_step_seconds"])


def test_own_data_have_no_first_run(monkeypatch):
    seen = []
    monkeypatch.setattr(CQRNN, "fit", lambda self, X, y, **more: seen.append(self.y_star) or 1 / 0)
    X, y = load_gbsg2(as_frame=False)
    run_cell(replace(cell(), dataset=own_dataset("mine", X, y)), [111])
    assert seen[-1] == "1.2max"


@pytest.mark.parametrize(
    "suite",
    [suite for suite in PAPER_SUITES if suite.draw is None],
    ids=lambda suite: suite.name,
)
def test_every_suite_of_the_paper_follows_its_conventions(suite):
    assert isinstance(suite.conventions, PaperConventions)
