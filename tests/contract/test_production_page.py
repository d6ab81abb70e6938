"""The page about production: its code runs, and prints what the page shows."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from test_docs_pages import blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "production.md").read_text(encoding="utf-8")


def is_runnable(block):
    """Whether what a block imports is there: MLflow is too large for the test environment."""
    return "import mlflow" not in block or find_spec("mlflow") is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow")
def test_code_of_the_page_runs_and_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "production"}
    for number, block in enumerate(filter(is_runnable, blocks(PAGE))):
        exec(compile(block, f"production, block {number}", "exec"), namespace)
    shown = [line[4:] for line in PAGE.splitlines() if line.startswith("    ")]
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in shown] == printed
    assert "</script>" not in namespace["page_model"].json
