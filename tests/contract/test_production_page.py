"""The page about production: its code runs, and prints what the page shows."""

from pathlib import Path

from test_docs_pages import blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "production.md").read_text(encoding="utf-8")


def test_code_of_the_page_runs_and_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "production"}
    for number, block in enumerate(blocks(PAGE)):
        if "import mlflow" in block:  # test_mlflow_page runs it in a process of its own
            continue
        exec(compile(block, f"production, block {number}", "exec"), namespace)
    shown = [line[4:] for line in PAGE.splitlines() if line.startswith("    ")]
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in shown] == printed
    assert "</script>" not in namespace["page_model"].json
