"""One call: plan, run, tables and files."""

import pandas as pd
import pytest

from censquant import LinearQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant_bench import own_dataset, own_method, run

QUICK = {"datasets": ["weibull"], "methods": ["excl_censor"], "seeds": 2, "n_jobs": 1}


def test_files_are_written_and_rows_made_once(tmp_path):
    first = run("main", out=tmp_path, command="censquant bench", **QUICK)
    names = [path.name for path in first.files]
    assert names[:3] == ["rows.jsonl", "results.parquet", "table.md"]
    assert all(path.parent == tmp_path / "main" for path in first.files)
    again = run("main", out=tmp_path, **QUICK)
    pd.testing.assert_frame_equal(first.rows, again.rows)


def test_the_files_show_all_rows_that_lie_there_and_the_report_those_asked_for(tmp_path):
    run("main", out=tmp_path, **QUICK)
    report = run("main", out=tmp_path, **{**QUICK, "datasets": ["lognorm"]})
    assert set(report.rows["dataset"]) == {"lognorm"}
    kept = pd.read_parquet(tmp_path / "main" / "results.parquet")
    assert set(kept["dataset"]) == {"weibull", "lognorm"}


def test_grouped_data_of_ones_own_have_their_scores_in_the_table():
    X, y = load_gbsg2(as_frame=False)
    study = own_dataset("study", X, y, taus=[0.1, 0.25, 0.5], groups=range(len(X)))
    line = own_method("line", LinearQuantileRegressor(method="peng-huang"))
    report = run(datasets=[study], methods=[line], seeds=2, n_jobs=1)
    assert "| study | line | " in report.to_markdown()
    assert set(report.rows["split"]) == {"grouped"}


def test_pictures_of_one_feature_are_drawn(tmp_path):
    report = run("figures", datasets=["norm_uniform"], methods=["excl_censor"], out=tmp_path)
    assert [path.name for path in report.files] == ["quantiles_1d.png", "quantiles_1d.svg"]
    assert report.tables == ()


@pytest.mark.parametrize(
    ("suite", "options", "message"),
    [
        ("figures", {}, "out must name a folder for the suite 'figures', got None"),
        ("figurs", {}, "There is no suite 'figurs'; did you mean figures"),
        (
            "figures",
            {"out": "x", "seeds": 3, "splits": ["grouped"]},
            "The suite 'figures' draws one fit of .* so it takes no seeds or splits",
        ),
        ("figures", {"out": "x", "methods": []}, "There is nothing to draw: datasets and methods"),
        ("figures", {"out": "x", "datasets": "norm_heavy"}, "one feature, got 'norm_heavy'"),
    ],
)
def test_wrong_words_get_a_sentence(suite, options, message):
    with pytest.raises(ValueError, match=message):
        run(suite, **options)


@pytest.mark.parametrize("package", ["pandas", "matplotlib", "pyarrow"])
def test_what_is_not_installed_is_named_before_anything_is_fitted(tmp_path, monkeypatch, package):
    monkeypatch.setattr(
        "censquant_bench._experiment.find_spec", lambda name: None if name == package else 1
    )
    monkeypatch.setattr("censquant_bench._experiment.run_plan", None)
    with pytest.raises(ModuleNotFoundError, match=f"The benchmark needs {package}, which is not"):
        run("main", out=tmp_path, **QUICK)
    assert not any(tmp_path.iterdir())


def test_the_head_says_that_more_commands_than_one_made_the_rows(tmp_path):
    run("main", out=tmp_path, command="first", **QUICK)
    table = tmp_path / "main" / "table.md"
    assert "several" not in table.read_text(encoding="utf-8")
    run("main", out=tmp_path, command="second", **{**QUICK, "seeds": 1})
    assert table.read_text(encoding="utf-8").startswith(
        "`second (last of several commands into this folder)`"
    )


def test_pictures_need_one_feature(tmp_path):
    with pytest.raises(ValueError, match="draws synthetic sets with one feature, got 'norm_heavy'"):
        run("figures", datasets=["norm_heavy"], out=tmp_path)
