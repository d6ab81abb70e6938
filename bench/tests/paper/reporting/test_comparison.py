"""Distances from the published means."""

import math

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmark_rows import LABELS, cell, frame
from censquant_bench.paper import agreement, compare
from censquant_bench.paper.reporting import preferred_metrics


def test_distances_are_in_joint_and_in_published_errors():
    # GBSG CQRNN in the paper: C-index 0.683 with standard error 0.005.
    rows = frame(cell({"cindex": [0.690, 0.696]}))
    (line,) = compare(rows, LABELS).to_dict("records")
    published = math.hypot(0.005, 0.0005)
    assert_allclose(line["difference"], 0.010)
    assert_allclose(line["se"], 0.003)
    assert_allclose(line["joint_distance"], 0.010 / math.hypot(0.003, published))
    # Two runs scatter as much as the paper's ten would, times the root of five.
    assert_allclose(line["published_distance"], 0.010 / math.hypot(0.005 * 5**0.5, 0.0005))


def test_ten_runs_and_more_are_judged_by_the_printed_error():
    for n_runs in (10, 20):
        (line,) = compare(frame(cell({"cindex": [0.693] * n_runs})), LABELS).to_dict("records")
        assert_allclose(line["published_distance"], 0.010 / math.hypot(0.005, 0.0005))


def test_a_printed_standard_error_of_zero_leaves_the_rounding():
    # Housing CQRNN: C-index 0.897 with a printed standard error of 0.0.
    (line,) = compare(frame(cell({"cindex": [0.898] * 2}, dataset="housing")), LABELS).to_dict(
        "records"
    )
    assert line["published_se"] == 0.0
    assert_allclose(line["published_distance"], 0.001 / 0.0005)
    assert_allclose(line["joint_distance"], 0.001 / 0.0005)


def test_one_run_is_compared_in_the_papers_errors_only():
    (line,) = compare(frame(cell({"cindex": [0.688]})), LABELS).to_dict("records")
    assert math.isnan(line["joint_distance"])
    assert_allclose(line["published_distance"], 0.005 / math.hypot(0.005 * 10**0.5, 0.0005))


def test_only_what_the_paper_has_is_compared():
    rows = frame(
        cell({"cindex": [0.6, 0.7]}, dataset="mine"),
        cell({"cindex": [0.6, 0.7]}, method="mine"),
        cell({"cindex": [0.6, 0.7]}, split="grouped"),
        cell({"cindex": [0.6, 0.7]}, variant="penalty"),
    )
    comparison = compare(rows, LABELS)
    assert len(comparison) == 0
    assert "joint_distance" in comparison.columns


def test_agreement_is_judged_in_the_papers_errors_and_counted_in_joint_ones_beside():
    comparison = pd.DataFrame(
        {
            "method": ["a", "a", "a", "b", "b"],
            "published_distance": [0.5, -3.0, 3.1, -9.0, math.nan],
            "joint_distance": [0.4, math.nan, 2.0, -4.0, math.nan],
        }
    )
    near = agreement(comparison)
    assert near.shares.to_dict("list") == {
        "method": ["a", "b", "all"],
        "within": [2, 0, 2],
        "cells": [3, 1, 4],
        "share": [2 / 3, 0.0, 0.5],
        "within_joint": [2, 0, 2],
        "cells_joint": [2, 1, 3],
        "share_joint": [1.0, 0.0, 2 / 3],
    }
    assert near.outside["published_distance"].tolist() == [-9.0, 3.1]
    assert (near.unjudged, near.limit) == (1, 3.0)


def test_a_wider_limit_takes_in_cells_that_were_outside():
    comparison = pd.DataFrame(
        {"method": ["a", "a"], "published_distance": [3.5, -6.0], "joint_distance": [1.0, -2.0]}
    )
    near = agreement(comparison, limit=4.0)
    assert near.outside["published_distance"].tolist() == [-6.0]
    assert near.limit == 4.0


def test_agreement_of_nothing_has_no_share():
    near = agreement(pd.DataFrame({"method": [], "published_distance": [], "joint_distance": []}))
    assert near.shares["cells"].tolist() == [0]
    assert math.isnan(near.shares["share"].item())
    assert math.isnan(near.shares["share_joint"].item())


@pytest.mark.parametrize(
    ("known", "preferred"),
    [
        (["tqmse", "uql", "cindex", "censdcal"], ("tqmse",)),
        (["uql", "cindex", "censdcal"], ("uql",)),
        (["censdcal", "cindex"], ("cindex", "censdcal")),
        (["censdcal"], ("censdcal",)),
        ([], ()),
    ],
)
def test_the_metric_follows_what_is_known_of_the_data(known, preferred):
    assert preferred_metrics(known) == preferred
