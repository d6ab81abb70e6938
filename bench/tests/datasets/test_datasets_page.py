import re
from pathlib import Path

import pytest

import censquant_bench.datasets
from censquant import datasets
from censquant.datasets import catalogue

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
FUNCTIONS = [
    name for part in (datasets, censquant_bench.datasets) for name in part.__all__ if name.islower()
]


def rows():
    """Cells of the tables by the name of the set in the first one."""
    found = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) > 5:
            for name in re.findall(r"`([\w.]+)`", cells[0]):
                found[name] = cells
    return found


def test_the_code_of_the_page_runs_without_a_network(monkeypatch, tmp_path):
    monkeypatch.setenv("CENSQUANT_DATA", "")
    monkeypatch.setenv("CENSQUANT_CACHE", str(tmp_path))
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["share"] == pytest.approx(0.4, abs=0.05)
    assert not list(tmp_path.iterdir())


def test_the_tables_say_what_the_catalogue_says():
    for info in catalogue():
        cells, share = rows()[info.name], 100 * info.censored_share
        assert cells[2:4] == [str(info.n_samples), str(info.n_features)], info.name
        if info.kind == "synthetic":
            names = re.findall(r"`(\w+)`", cells[0])
            shares = cells[4].removesuffix(" %").split(", ")
            assert dict(zip(names, shares, strict=True))[info.name] == f"{share:.0f}"
        else:
            assert cells[4] == f"{share:.1f} %", info.name
            assert bool(cells[6]) == bool(info.groups), info.name


def test_the_pages_count_the_sets_right():
    kinds = [info.kind for info in catalogue()]
    counts = [kinds.count(kind) for kind in ("synthetic", "bundled", "download")]
    assert counts == [14, 1, 14 + 34]
    assert "Fourteen synthetic sets" in PAGE
    assert "and fourteen real ones" in PAGE
    assert "Another 34" in PAGE
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert "the paper's 14 synthetic sets" in changes
    assert "fourteen real sets from their publishers" in changes


def test_the_page_tells_of_every_function():
    assert [name for name in FUNCTIONS if not re.search(rf"\b{name}\b", PAGE)] == []
