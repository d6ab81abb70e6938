"""What docstrings claim agrees with the code they describe."""

import importlib
import inspect
import re

import pandas as pd
import pytest
from test_public_api import MODULES

import censquant
from censquant.estimators import AdaptedModel, NeuralRegressor, ParametricRegressor


def sections(text):
    """Sections of a numpydoc docstring: title to its lines, with the indentation taken off."""
    lines = inspect.cleandoc(text or "").splitlines()
    found, title = {}, None
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip() and re.fullmatch(r"-{3,}", following):
            title = line
            found[title] = []
        elif title is not None and not re.fullmatch(r"-{3,}", line):
            found[title].append(line)
    return found


def parameters(text):
    """Names that a docstring lists under Parameters, in order."""
    entries = [line for line in sections(text).get("Parameters", []) if re.match(r"\S", line)]
    return [
        name.strip().lstrip("*") for line in entries for name in line.split(" : ")[0].split(",")
    ]


def signature(value):
    """Names of the parameters that a caller gives."""
    callee = getattr(value, "py_func", value)
    return [name for name in inspect.signature(callee).parameters if name not in ("self", "cls")]


def is_protocol(value):
    return getattr(value, "_is_protocol", False)


def is_error(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def exported():
    """Classes and functions that any part of the package exports, each once."""
    seen = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            documented = isinstance(value, type) or inspect.isroutine(value)
            if (documented or hasattr(value, "py_func")) and not is_protocol(value):
                seen[id(value)] = pytest.param(value, id=f"{module}.{name}")
    return list(seen.values())


def by_part():
    """Of each part of the package, what it exports, by name."""
    parts = {}
    for entry in exported():
        module, _, name = entry.id.rpartition(".")
        parts.setdefault(module, {})[name] = entry.values[0]
    return [pytest.param(values, id=module) for module, values in parts.items()]


def own_methods(cls):
    """Public methods that a class defines or inherits from a class that is not exported."""
    elsewhere = [base for base in cls.__mro__[1:] if base in {e.values[0] for e in exported()}]
    for name, method in inspect.getmembers(cls, inspect.isroutine):
        ours = (getattr(method, "__module__", None) or "").startswith("censquant")
        inherited = any(getattr(base, name, None) is method for base in elsewhere)
        if ours and not inherited and not name.startswith("_"):
            yield f"{cls.__name__}.{name}", method


of_each_part = pytest.mark.parametrize("values", by_part())


@of_each_part
def test_the_parameters_of_the_docstring_are_those_of_the_signature(values):
    for name, value in values.items():
        assert is_error(value) or parameters(value.__doc__) == signature(value), name


@of_each_part
def test_a_method_documents_all_of_its_parameters_or_none(values):
    for cls in filter(inspect.isclass, values.values()):
        for name, method in own_methods(cls):
            listed = parameters(method.__doc__)
            assert inspect.getdoc(method), name
            assert not listed or listed == signature(method), name


def test_the_methods_of_the_estimator_that_take_data_document_all_parameters():
    for name, method in inspect.getmembers(censquant.CQRNN, inspect.isroutine):
        if not name.startswith("_") and method.__module__.startswith("censquant"):
            assert parameters(method.__doc__) == signature(method), name


@of_each_part
def test_every_class_and_function_has_an_example(values):
    for name, value in values.items():
        lines = sections(value.__doc__).get("Examples", [])
        assert any(line.startswith(">>> ") for line in lines), name


@of_each_part
def test_the_first_line_is_one_sentence(values):
    for name, value in values.items():
        first = inspect.getdoc(value).split("\n\n")[0]
        assert first.endswith("."), name
        assert "\n" not in first, name


def attributes(text):
    """Names that a docstring lists under Attributes."""
    entries = [line for line in sections(text).get("Attributes", []) if re.match(r"\S", line)]
    return {name.strip() for line in entries for name in line.split(" : ")[0].split(",")}


def unfitted(value):
    """An estimator of the class that takes little time to fit; of an abstract one, a subclass's."""
    around = {
        censquant.QuantilePipeline: lambda: value([("model", censquant.LinearQuantileRegressor())]),
        AdaptedModel: lambda: value(censquant.LinearQuantileRegressor()),
        censquant.PooledQuantileRegressor: lambda: value(
            [("cox", censquant.CoxQuantileRegressor())]
        ),
        NeuralRegressor: lambda: unfitted(censquant.UncensoredOnlyNN),
        ParametricRegressor: lambda: unfitted(censquant.LogNormalNN),
    }
    if value in around:
        return around[value]()
    short = {"max_epochs": 1, "hidden_layer_sizes": (2,)}
    return value(**{name: short[name] for name in short if name in signature(value)})


def estimators():
    for entry in exported():
        (value,) = entry.values
        # Those of dask need a cluster; tests/unit/dask_clusters looks at their attributes.
        on_cluster = value.__module__.startswith("censquant.dask.")
        fits = isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "get_params")
        if fits and not on_cluster:
            yield entry


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@pytest.mark.parametrize("value", list(estimators()))
def test_documented_attributes_of_fitted_estimators_are_set_by_fit(value):
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    y = [1.0, 2.0, 3.0, 4.0]
    if value is censquant.CompetingRisksRegressor:
        y = (y, [1, 2, 1, 2])
    model = unfitted(value).fit(frame, y)
    learned = {n for n in dir(model) if n.endswith("_") and not n.startswith("_")}
    # A pipeline has properties that only some last steps can answer.
    assert attributes(value.__doc__) == {name for name in learned if hasattr(model, name)}


def test_the_parser_reads_shared_lines_and_starred_names():
    def example(a, b, *rest):
        """Sum.

        Parameters
        ----------
        a, b : float
            Terms.
        *rest : float

        Returns
        -------
        total : float
        """

    assert parameters(example.__doc__) == ["a", "b", "rest"] == signature(example)
