"""What other distributions add to this one, and what has moved into them."""

from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any

BENCH_COMMAND = "pip install censquant-bench"
"""How to install the benchmark, its peers and its data sets."""


@cache
def load_plugins(group: str) -> dict[str, Any]:
    """Return what installed distributions offer in a group of entry points, by name."""
    return {entry.name: entry.load() for entry in entry_points(group=group)}


def moved_to_bench(
    module: str, name: str, moved: Collection[str], part: str = "censquant_bench"
) -> AttributeError:
    """Return the error of a missing attribute, with the new home of a name that has moved."""
    if name not in moved:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    home = part if name == "benchmark" else f"{part}.{name}"
    return AttributeError(f"{module}.{name} is now {home}, which is installed by: {BENCH_COMMAND}")
