"""An experiment: which methods meet on which sets, in which variants, and how it is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from censquant_bench._cells import FIRST_SEED
from censquant_bench._conventions import RunConventions
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench.reporting import Labels, Table, failed_table, score_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Tables = Callable[["DataFrame", Labels], list[Table]]
Draw = Callable[
    [Path, Sequence[BenchmarkDataset], Sequence[BenchmarkMethod], Labels], Sequence[Path]
]


@dataclass(frozen=True)
class Variant:
    """Parameters that a suite changes, under a name for its table.

    Parameters
    ----------
    label : str, default ""
        What rows and tables call it.
    options : mapping
        Parameters of the method.
    n_train : int, optional
        Number of training rows, in synthetic data.
    traced : bool, default False
        Whether the error against the true quantiles is recorded after every epoch.

    Examples
    --------
    >>> from censquant_bench import Variant
    >>> Variant("wide", {"hidden_layer_sizes": (200, 200)}).label
    'wide'
    """

    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    n_train: int | None = None
    traced: bool = False


@dataclass(frozen=True)
class Suite:
    """An experiment: sets, methods, variants, numbers of runs, and its tables and figure.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What it shows, in a sentence.
    datasets : tuple of str or BenchmarkDataset
        Names in `DATASETS`, or sets of your own.
    methods : tuple of str or BenchmarkMethod
        Names in `METHODS`, or methods of your own.
    n_runs : mapping of str to int
        Usual number of runs by kind of set; 10 for kinds that it does not name.
    variants : tuple of Variant
        Parameters to vary.
    grouped : bool, default False
        Whether sets whose rows repeat are also divided by groups.
    with_peers : bool, default False
        Whether the methods of all installed peer libraries join.
    conventions : RunConventions, optional
        What is done around each fit.
    tables : callable
        Takes rows and `Labels` and returns a list of tables; by default scores and mean ranks.
    figure : callable, optional
        Takes rows and `Labels` and returns a matplotlib Figure.
    draw : callable, optional
        Makes a suite of pictures, whose result is no table of runs: takes a folder, sets, methods
        and `Labels`, fits each method once, and returns the paths of what it drew.
    first_seed : int, default 111
        Seed of the first run, the paper's by default; the others follow it.

    Examples
    --------
    >>> from censquant_bench import SUITES, Suite, plan
    >>> SUITES["ystar"].datasets
    ('norm_heavy', 'norm_light', 'lognorm_heavy', 'lognorm_light')
    >>> mine = Suite("mine", "Two baselines.", ("weibull",), ("lognorm", "excl_censor"))
    >>> len(plan(mine))
    2
    """

    name: str
    title: str
    datasets: tuple[str | BenchmarkDataset, ...]
    methods: tuple[str | BenchmarkMethod, ...]
    n_runs: Mapping[str, int] = field(default_factory=dict)
    variants: tuple[Variant, ...] = (Variant(),)
    grouped: bool = False
    with_peers: bool = False
    conventions: RunConventions = field(default_factory=RunConventions)
    tables: Tables = score_tables
    figure: Callable[[DataFrame, Labels], Figure] | None = None
    draw: Draw | None = None
    first_seed: int = FIRST_SEED

    def report_tables(self, rows: DataFrame, labels: Labels) -> list[Table]:
        """Return the suite's tables, those with no rows left out, and the runs that failed.

        Parameters
        ----------
        rows : DataFrame
            One row per run.
        labels : Labels
            Titles.

        Returns
        -------
        tables : list of Table
        """
        tables = [*self.tables(rows, labels), failed_table(rows, labels)]
        return [table for table in tables if table.rows]
