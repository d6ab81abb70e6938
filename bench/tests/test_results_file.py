"""The file of results: nothing lost, nothing twice, nothing foreign touched."""

import json

import pytest

import censquant
from censquant_bench import ResultsFile


def row(seed, **scores):
    key = {"suite": "main", "dataset": "gbsg", "method": "cqrnn", "split": "random", "variant": ""}
    return {**key, "seed": seed, **scores}


def seeds(path):
    with ResultsFile(path) as results:
        return [one["seed"] for one in results.rows]


def test_rows_are_there_when_the_file_is_opened_again(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111, cindex=0.5), row(112)])
    assert seeds(path) == [111, 112]


def test_a_row_is_on_disk_before_the_file_is_closed(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111)])
        assert len(path.read_text().splitlines()) == 2


def test_a_row_that_is_there_is_not_written_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111, cindex=0.5)])
    with ResultsFile(path) as results:
        results.append([row(111, cindex=0.9), row(112)])
        assert [one.get("cindex") for one in results.rows] == [0.5, None]
    assert seeds(path) == [111, 112]


def test_a_run_that_failed_is_made_again_and_counted_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111, error="RuntimeError: no luck"), row(112, error="")])
        assert {key[-1] for key in results.finished} == {"112"}
    with ResultsFile(path) as results:
        results.append([row(111, error="", cindex=0.5)])
        assert [one["error"] for one in results.rows] == ["", ""]
    with ResultsFile(path) as results:
        assert [one.get("cindex") for one in results.rows] == [0.5, None]
        assert len(results.finished) == 2


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_cut_short_is_dropped_and_the_rest_kept(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111), row(112)])
    path.write_bytes(path.read_bytes()[:-cut])
    with ResultsFile(path) as results:
        assert [one["seed"] for one in results.rows] == [111]
        results.append([row(112)])
    assert seeds(path) == [111, 112]


def test_scores_that_are_not_numbers_survive(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111, uql=float("nan"))])
    with ResultsFile(path) as results:
        assert results.rows[0]["uql"] != results.rows[0]["uql"]


@pytest.mark.parametrize(
    "content", [b"seed,cindex\n1,2\n", b"[1, 2]\n", b'{"a": 1}\n', b"no line end"]
)
def test_a_foreign_file_is_refused_and_left_as_it_was(tmp_path, content):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a results file of censquant, so nothing was"):
        ResultsFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("n_bytes", [0, 1, 12])
def test_a_file_cut_while_it_was_begun_is_begun_again(tmp_path, n_bytes):
    path = tmp_path / "rows.jsonl"
    ResultsFile(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:n_bytes])
    ResultsFile(path).close()
    assert path.read_bytes() == whole


def test_a_line_that_is_no_row_is_named_and_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path) as results:
        results.append([row(111)])
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"Line 3 of '.*rows.jsonl' is not a row of results"):
        ResultsFile(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("field", "value"), [("format", 99), ("censquant", "0.0.1")])
def test_results_of_another_version_are_refused_and_left_as_they_were(tmp_path, field, value):
    path = tmp_path / "rows.jsonl"
    header = {"format": 1, "censquant": censquant.__version__, field: value}
    path.write_text(json.dumps(header) + "\n" + json.dumps(row(111)) + "\n")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"{value}.*which are not mixed with those of"):
        ResultsFile(path)
    assert path.read_bytes() == before


def test_a_second_writer_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultsFile(path), pytest.raises(ValueError, match="is being written to by another run"):
        ResultsFile(path)
    assert seeds(path) == []
