"""The page on model files: its code runs, and it lists what there is."""

import re
from pathlib import Path

import pytest

from censquant import _files
from censquant._storage import _parts, _sklearn_parts

PAGE = (Path(__file__).parents[3] / "docs" / "model-files.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_and_predicts_without_censquant(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["times"].shape == (3, 19)
    assert capsys.readouterr().out.startswith("CQRNN\n['horTh', 'age'")


@pytest.mark.parametrize("name", sorted(_sklearn_parts._CONTENTS))
def test_the_page_names_every_transformer_that_a_user_may_save(name):
    inner = ("MissingIndicator", "FunctionTransformer")  # made by others, without a function
    assert name.endswith(inner) or f"`{name.rpartition('.')[2]}`" in PAGE


def test_the_page_is_of_the_format_that_is_written():
    assert f"format {_files.FORMAT_VERSION}." in PAGE


def tags():
    sources = (_parts.__file__, _sklearn_parts.__file__)
    return {
        tag for path in sources for tag in re.findall(r'"(\$\w+)"', Path(path).read_text("utf-8"))
    }


@pytest.mark.parametrize("tag", sorted(tags()))
def test_the_page_tells_of_every_tag(tag):
    assert f'{{"{tag}":' in PAGE
