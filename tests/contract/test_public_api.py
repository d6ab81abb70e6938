"""What the package offers by name."""

import ast
import importlib
import inspect
import pkgutil
import re
from itertools import pairwise
from types import ModuleType

import pytest

import censquant

# The command is a program and not a part of the library.
PARTS = sorted(
    module.name
    for module in pkgutil.iter_modules(censquant.__path__)
    if not module.name.startswith("_") and module.name != "cli"
)
MODULES = ["censquant", *(f"censquant.{part}" for part in PARTS)]


def rank(name):
    """Order of names in `__all__`: constants, classes, the rest; digits by their value."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
    return kind, [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


@pytest.mark.parametrize("module", MODULES)
def test_names_are_sorted_and_listed_once(module):
    names = importlib.import_module(module).__all__
    assert names == sorted(names, key=rank)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("module", MODULES)
def test_every_name_can_be_imported(module):
    namespace, names = {}, importlib.import_module(module).__all__
    exec(f"from {module} import {', '.join(names)}", namespace)
    assert set(names) <= set(namespace)


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_hold(module):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("module", MODULES)
def test_what_is_imported_for_export_is_exported(module):
    home = importlib.import_module(module)
    own = {
        name
        for name, value in vars(home).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith(f"{module}._")
    }
    assert own <= set(home.__all__)


def docstrings_of_constants(module):
    """Names that are assigned at the top of a module and followed by a string about them."""
    body = ast.parse(inspect.getsource(module)).body
    for statement, following in pairwise(body):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield from (t.id for t in targets if isinstance(t, ast.Name))


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_documented(module):
    home = importlib.import_module(module)
    files = [
        importlib.import_module(f"{module}.{found.name}")
        for found in pkgutil.iter_modules(getattr(home, "__path__", []))
        if module != "censquant"
    ]
    documented = {"__version__", *(n for file in files for n in docstrings_of_constants(file))}
    for name in home.__all__:
        value = getattr(home, name)
        if isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "py_func"):
            assert inspect.getdoc(value), name
        else:
            assert name in documented


def test_dir_lists_the_names_and_the_parts():
    assert {*censquant.__all__, *PARTS} <= set(dir(censquant))
    assert dir(censquant) == sorted(dir(censquant))


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_attributes(part):
    assert getattr(censquant, part) is importlib.import_module(f"censquant.{part}")


def test_names_lead_to_their_parts():
    from censquant.estimators import CQRNN

    assert censquant.CQRNN is CQRNN


def test_the_version_is_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+", censquant.__version__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'censquant' has no attribute 'CQRN'"):
        censquant.CQRN  # noqa: B018


def test_parts_are_loaded_when_they_are_named():
    assert censquant.__getattr__("survival") is importlib.import_module("censquant.survival")


def test_a_lazy_name_is_looked_up_once():
    censquant.__getattr__("Surv")
    assert vars(censquant)["Surv"] is censquant.Surv
