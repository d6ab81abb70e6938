"""The second distribution: its version, what it adds to the command, and what it leaves alone."""

import ast
import importlib
import tomllib
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import censquant
import censquant_bench

PACKAGE = Path(censquant_bench.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def test_it_is_released_with_the_package_it_measures():
    assert version("censquant-bench") == censquant.__version__
    (requirement,) = PROJECT["project"]["dependencies"]
    assert requirement.endswith(f">={censquant.__version__}")


@pytest.mark.parametrize("group", PROJECT["project"]["entry-points"])
def test_what_it_adds_to_the_command_is_installed(group):
    added = {entry.name: entry.value for entry in entry_points(group=group)}
    assert PROJECT["project"]["entry-points"][group].items() <= added.items()
    assert all(entry.load() for entry in entry_points(group=group))


def test_every_name_is_loaded_from_its_home():
    for name in censquant_bench.__all__:
        assert getattr(censquant_bench, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        importlib.import_module("censquant_bench").nothing  # noqa: B018


@pytest.mark.parametrize("part", ["paper", "field", "comparisons", "coverage"])
def test_only_the_registry_knows_the_parts(part):
    users = set()
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / part):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            if named and f"{named}.".startswith(f"censquant_bench.{part}."):
                users.add(str(path.relative_to(PACKAGE)))
    assert users == {"_registry.py"}
