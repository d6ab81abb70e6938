"""Pytest plugin that leaves out tests of packages that are not installed: ``-p installed_only``.

For environments that lack optional packages on purpose. ``make test`` does not load it: a package
that is missing there is an error, never a gap. It reads what tests import instead of catching what
fails, so that a library that loads an optional package where it must not is still found.
"""

import ast
import inspect
from importlib.metadata import packages_distributions
from pathlib import Path
from sys import stdlib_module_names
from textwrap import dedent

import pytest

HERE = Path(__file__).parent
HELPERS = (HERE, HERE / "cli", HERE.parent / "bench" / "tests")
# What a part of censquant needs as soon as it is used.
NEEDS = {
    "censquant.cli": "typer",
    "censquant.dask": "distributed",
    "censquant.io": "pyarrow",
    "censquant.plotting": "matplotlib",
    "censquant.report": "jinja2",
    "censquant.torch": "torch",
}
# Files, folders of files and tests that reach a package in another way than by an import of their
# own.
REACHES = {
    "_onnx": "onnx",
    "peers": "lifelines",
    "test_a_row_has_the_papers_scores_and_the_unbiased_ones": "torch",
    "test_console_blocks": "onnx",
    "test_docs_pages": "torch",
    "test_methods": "torch",
    "test_methods_and_peers_meet_on_messy_data": "lifelines",
    "test_methods_travel_to_workers": "lifelines",
    "test_mlflow_page": "mlflow",
    "test_peers_are_the_ones_installed": "lifelines",
    "test_production_page": "onnxruntime",
    "test_public_api": "torch",
    "test_run": "torch",
    "test_the_last_layer_for_images_was_not_trained_in_the_published_runs": "torch",
    "test_wrong_words_get_a_sentence": "sksurv",
}
INSTALLED = {*stdlib_module_names, *packages_distributions(), "censquant"}

_left_out = {}


def imported(node):
    """Modules that a piece of source imports, tests inside it left aside."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_")):
            yield from imported(inner)


def missing(node, folder):
    """Packages that a piece of source needs, itself or through a helper, and that are not there."""
    for module in imported(node):
        top, *rest = module.split(".")
        places = (place / f"{top}.py" for place in (folder, *HELPERS))
        helpers = [place for place in places if place.is_file()]
        if helpers:
            yield from needs_of(helpers[0])
        else:
            needed = NEEDS.get(f"{top}.{rest[0]}", top) if rest else top
            yield from {needed} - INSTALLED


def needs_of(path):
    """Packages that a file needs for all of its tests and that are not there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any(path.is_relative_to(folder) for folder in HELPERS):
        # The library imports inside a function what only some of its users have.
        tree.body = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        # Whoever loads a module loads the package around it.
        yield from {NEEDS.get(f"censquant.{path.parent.name}", "censquant")} - INSTALLED
    yield from missing(tree, path.parent)
    reached = {REACHES[name] for name in (path.stem, path.parent.name) if name in REACHES}
    yield from reached - INSTALLED


def pytest_ignore_collect(collection_path):
    """Leave out a file whose imports are not there."""
    if collection_path.suffix == ".py" and collection_path.name != "conftest.py":
        return _leave_out(str(collection_path), needs_of(collection_path))
    return None


def pytest_collection_modifyitems(config, items):
    """Leave out a test that itself imports what is not there."""
    kept = []
    for item in items:
        needs = {*missing(source_of(item), item.path.parent)}
        needs |= {REACHES.get(getattr(item, "originalname", None), "censquant")} - INSTALLED
        if not _leave_out(item.nodeid, needs):
            kept.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def source_of(item):
    """Parsed source of a test, or of the examples of a docstring."""
    if hasattr(item, "dtest"):
        return ast.parse("".join(example.source for example in item.dtest.examples))
    functions = ast.parse(dedent(inspect.getsource(item.function))).body
    return ast.Module([inner for function in functions for inner in function.body], [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take over what a process of pytest-xdist left out."""
    _left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_sessionfinish(session):
    """Hand over what was left out, if this is a process of pytest-xdist."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = {k: sorted(v) for k, v in _left_out.items()}


def pytest_terminal_summary(terminalreporter):
    """Report what was not run, and why."""
    terminalreporter.section("left out, because a package is not installed")
    for place, names in sorted(_left_out.items()):
        terminalreporter.line(f"{place} needs {', '.join(sorted(names))}")


def _leave_out(place, needs):
    """Whether something is missing; it is remembered for the summary."""
    names = set(needs)
    if names:
        _left_out[place] = names
    return bool(names) or None
