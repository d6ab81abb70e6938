"""Methods side by side, and their ranks."""

import math

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.reporting import score_tables


def test_peers_have_scores_times_and_ranks():
    scores = {
        "cindex": [0.6, 0.7],
        "pinball": [0.4, 0.6],
        "a_calibration_p": [0.01, 0.5],
        "coverage": [0.7, 0.8],
        "nominal_coverage": [0.8, 0.8],
        "fit_seconds": [1.0, 2.0],
        "predict_seconds": [0.001, 0.003],
    }
    rows = frame(
        cell(scores, suite="peers"),
        cell({"cindex": [0.8, 0.8], "pinball": [0.6, 0.6]}, suite="peers", method="cox"),
        cell({"cindex": [0.5, 0.5]}, suite="peers", dataset="whas", split="grouped"),
    )
    table, ranks = score_tables(rows, LABELS)
    assert table.columns == (
        *("Dataset", "Method", "C-index", "Pinball", "A-cal. refused", "Coverage (nominal)"),
        *("Fit s", "Predict s"),
    )
    assert texts(table) == [
        ["WHAS (grouped split)", "CQRNN", "0.500 ± 0.000", "–", "–", "–", "0.2", "0.01"],
        [
            *("GBSG", "CQRNN", "0.650 ± 0.050", "0.500 ± 0.100", "50 %", "0.750 (0.800)"),
            *("1.5", "0.002"),
        ],
        ["GBSG", "cox", "0.800 ± 0.000", "0.600 ± 0.000", "–", "–", "0.2", "0.01"],
    ]
    assert [[cell.text for cell in row if cell.bold] for row in table.rows] == [
        [],
        ["0.500 ± 0.100"],
        ["0.800 ± 0.000"],
    ]
    # CQRNN is first of one on WHAS and second of two on GBSG by the C-index.
    assert texts(ranks) == [["CQRNN", "2", "1.5", "1.0", "1.2"], ["cox", "1", "1.0", "2.0", "1.5"]]


def test_peers_without_times_or_calibration_have_dashes():
    rows = frame(cell({"cindex": [0.6]}, suite="peers"))
    rows = rows.drop(columns=["fit_seconds", "predict_seconds"])
    table, _ = score_tables(rows, LABELS)
    assert texts(table)[0][3:] == ["–", "–", "–", "–"]


def test_peers_that_all_failed_have_no_rows():
    rows = frame(cell({"cindex": [math.nan], "error": ["boom"]}, suite="peers"))
    assert [table.rows for table in score_tables(rows, LABELS)] == [(), ()]
