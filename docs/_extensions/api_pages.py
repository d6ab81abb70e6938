"""The page of the API, made of what the packages export: a name cannot be forgotten there."""

import importlib
import inspect
from pathlib import Path

DOCS = Path(__file__).parents[1]
PARTS = {
    "censquant": "Estimators, targets, model files",
    "censquant.metrics": "Metrics",
    "censquant.inspection": "Inspection of fitted models",
    "censquant.plotting": "Figures",
    "censquant.report": "Reports",
    "censquant.io": "Tables in files",
    "censquant.export": "Export",
    "censquant.dask": "Clusters",
    "censquant.datasets": "Data sets",
    "censquant.adapters": "Models of other libraries",
    "censquant.torch": "For users of PyTorch",
    "censquant.survival": "Targets and the Kaplan-Meier curve",
    "censquant.quantiles": "Predicted curves",
    "censquant_bench": "Benchmark",
    "censquant.exceptions": "Errors and warnings",
    "censquant.estimators": "Further names of estimators",
    "censquant.engine": "For those who extend the library",
}


def exported(part, shown):
    """Names of a part, without those that stand under another part already."""
    return [name for name in importlib.import_module(part).__all__ if name not in shown]


def has_page(value):
    """Whether an object is a class or a function, compiled ones included."""
    return isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "py_func")


def make_page(app, config):
    """Write the page before Sphinx looks for its sources."""
    lines = ["API", "===", "", "Everything that the packages export, by package.", ""]
    shown = {"__version__"}
    for part, title in PARTS.items():
        heading = f"{title} (``{part}``)"
        module = importlib.import_module(part)
        lines += [heading, "-" * len(heading), "", module.__doc__.strip().splitlines()[0], ""]
        lines += [f".. currentmodule:: {part}", "", ".. autosummary::", "   :toctree: names", ""]
        names = exported(part, shown)
        shown.update(names)
        lines += [f"   {name}" for name in names if has_page(getattr(module, name))]
        others = [f"``{name}``" for name in names if not has_page(getattr(module, name))]
        lines += ["", f"Constants and types: {', '.join(others)}."] if others else []
        lines.append("")
    page = DOCS / "generated" / "api" / "index.rst"
    page.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines)
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app):
    """Make the page before Sphinx looks for its sources, and autosummary for names in them."""
    app.connect("config-inited", make_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
