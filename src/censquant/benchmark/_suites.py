"""The experiments by name: which methods meet on which sets, in which variants, how often."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from censquant._validation import check_integer, look_up
from censquant.benchmark._cells import FIRST_SEED, Cell
from censquant.benchmark._datasets import DATASETS, SPLITS, BenchmarkDataset, get_dataset
from censquant.benchmark._methods import BenchmarkMethod, get_method
from censquant.benchmark.peers import PEER_TITLES, available_peers, make_peer

PAPER_METHODS = (
    "cqrnn",
    "sequential_grid",
    "excl_censor",
    "deepquantreg_as_run",
    "lognorm_as_run",
)
"""The five columns of the published table, as they were run."""

HONEST_METHODS = ("cqrnn_interpolated", "deepquantreg", "lognorm")
"""The same ideas as they are meant."""

_GRID_SIZES = (9, 19, 39)
_GRID_ROWS = (100, 200, 400, 800, 1600, 3200, 6400, 12800)
_ROWS_SEEN = 500 * 200  # rows times epochs, whatever the sample
_FAR_FACTORS = (1.0, 1.2, 1.5, 2.0, 10.0, 100.0)
_FULL_EPOCHS = (1, 5, 20)
_USUAL_RUNS = 10


@dataclass(frozen=True)
class Variant:
    """Parameters that a suite changes, under a name for its table."""

    label: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    n_train: int | None = None
    traced: bool = False


@dataclass(frozen=True)
class Suite:
    """An experiment: sets, methods, variants and numbers of runs.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What it shows, in a sentence.
    datasets : tuple of str
        Names in `DATASETS`.
    methods : tuple of str
        Names in `METHODS`.
    n_runs : mapping of str to int
        Usual number of runs by kind of set; 10 for kinds that it does not name.
    variants : tuple of Variant
        Parameters to vary.
    grouped : bool, default False
        Whether sets whose rows repeat are also divided by groups.

    Examples
    --------
    >>> from censquant.benchmark import SUITES
    >>> SUITES["ystar"].datasets
    ('norm_heavy', 'norm_light', 'lognorm_heavy', 'lognorm_light')
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...] = ("cqrnn",)
    n_runs: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    variants: tuple[Variant, ...] = (Variant(),)
    grouped: bool = False


def _of_kind(*kinds: str) -> tuple[str, ...]:
    paper = list(DATASETS)[:26]
    return tuple(name for name in paper if DATASETS[name].kind in kinds)


_SYNTHETIC, _SURVIVAL = _of_kind("synthetic"), _of_kind("survival")
_ONE_FEATURE = _SYNTHETIC[:6]


def _even_grid(size: int) -> tuple[float, ...]:
    return tuple(round(k / (size + 1), 3) for k in range(1, size + 1))


_ALL = (
    Suite(
        "main",
        "The full table: the paper's 26 sets and five methods as run, and the methods as meant.",
        _of_kind("synthetic", "overlay", "survival"),
        PAPER_METHODS + HONEST_METHODS,
        grouped=True,
    ),
    Suite(
        "sequential",
        "CQRNN against one network a level: training time, size, and paired differences.",
        _SYNTHETIC + _SURVIVAL,
        ("cqrnn", "sequential_grid"),
        {"synthetic": 200, "survival": 50},
    ),
    Suite(
        "grid",
        "How many levels: M = 9, 19, 39 at 100 to 12,800 rows, as many passed through training.",
        _ONE_FEATURE,
        n_runs={"synthetic": 100},
        variants=tuple(
            Variant(
                f"M={size}, n={n_rows}",
                {"quantiles": _even_grid(size), "max_epochs": max(1, round(_ROWS_SEEN / n_rows))},
                n_rows,
            )
            for size in _GRID_SIZES
            for n_rows in _GRID_ROWS
        ),
    ),
    Suite(
        "ystar",
        "The far time y*: factors 1 to 100 of the latest observed time.",
        ("norm_heavy", "norm_light", "lognorm_heavy", "lognorm_light"),
        variants=tuple(
            Variant(f"y*={factor:g}max", {"y_star": f"{factor:g}max"}) for factor in _FAR_FACTORS
        ),
    ),
    Suite(
        "crossing",
        "Quantiles that cross: as they come, with a penalty, with increasing outputs.",
        _SYNTHETIC,
        variants=(
            Variant("free"),
            # The authors' margin, and a strength between theirs for nine levels (10 / 8) and for
            # nineteen (10 / 18).
            Variant("penalty", {"crossing_penalty": 1.0, "crossing_margin": 0.1}),
            Variant("increasing head", {"head": "increasing"}),
        ),
    ),
    Suite(
        "interpolation",
        "The level of a censored row: nearest, lower, or between two predictions.",
        _SYNTHETIC,
        variants=tuple(
            Variant(rule, {"level_rule": rule}) for rule in ("nearest", "lower", "interpolate")
        ),
    ),
    Suite(
        "partial_full",
        "Levels renewed at every step, or kept for whole epochs while the fit catches up.",
        ("norm_linear",),
        variants=(
            Variant("partial", traced=True),
            *(
                Variant(f"full, {n} epoch{'s' * (n > 1)}", {"em_epochs": n}, traced=True)
                for n in _FULL_EPOCHS
            ),
        ),
    ),
    Suite(
        "peers",
        "Other libraries' methods on the same splits and scores.",
        (*_SURVIVAL, "norm_linear", "norm_medium", "lognorm_medium"),
        ("cqrnn", "cqrnn_interpolated", "lognorm", "weibull"),
        n_runs={"synthetic": 5, "survival": 5},
        grouped=True,
    ),
)

SUITES: Mapping[str, Suite] = MappingProxyType({suite.name: suite for suite in _ALL})
"""All experiments whose result is a table of runs, by name."""


def get_suite(name: str) -> Suite:
    """Return an experiment by name.

    Parameters
    ----------
    name : str
        One of `SUITES`.

    Returns
    -------
    suite : Suite

    Examples
    --------
    >>> from censquant.benchmark import get_suite
    >>> get_suite("grid").datasets[0]
    'norm_linear'
    """
    return look_up("suite", name, SUITES)


def plan(
    suite: str = "main",
    *,
    datasets: Iterable[str | BenchmarkDataset] | None = None,
    methods: Iterable[str | BenchmarkMethod] | None = None,
    seeds: int | None = None,
    splits: Sequence[str] | None = None,
) -> tuple[Cell, ...]:
    """Return the cells of an experiment.

    Parameters
    ----------
    suite : str, default "main"
        One of `SUITES`.
    datasets : iterable of str or BenchmarkDataset, optional
        Instead of the suite's own. Beside names, ``"synthetic"``, ``"overlay"``, ``"survival"``
        stand for all sets of a kind, and ``"small"`` for the 14 synthetic and 7 survival sets.
    methods : iterable of str or BenchmarkMethod, optional
        Instead of the suite's own.
    seeds : int, optional
        Runs of every cell, from seed 111 on, as in the paper.
    splits : sequence of {"random", "grouped"}, optional
        By default random, and in ``main`` and ``peers`` also grouped where rows repeat.

    Returns
    -------
    cells : tuple of Cell

    Examples
    --------
    >>> from censquant.benchmark import plan
    >>> cells = plan("main", datasets=["gbsg"], methods=["cqrnn"], seeds=3)
    >>> len(cells), cells[0].seeds
    (1, (111, 112, 113))
    """
    chosen = get_suite(suite)
    if seeds is not None:
        check_integer("seeds", seeds, minimum=1)
    sets = chosen_datasets(chosen.datasets if datasets is None else datasets)
    ways = chosen_methods(_methods_of(chosen) if methods is None else methods)
    splits = None if splits is None else list(_several(splits))
    _check_splits(sets, splits)
    _check_variants(chosen, sets, ways)
    cells = tuple(
        Cell(
            suite,
            dataset,
            method,
            split,
            variant.label,
            variant.options,
            variant.n_train if dataset.kind == "synthetic" else None,
            tuple(
                range(
                    FIRST_SEED, FIRST_SEED + (seeds or chosen.n_runs.get(dataset.kind, _USUAL_RUNS))
                )
            ),
            variant.traced,
        )
        for dataset in sets
        for split in _splits(dataset, splits, grouped=chosen.grouped)
        for method in ways
        for variant in chosen.variants
    )
    if not cells:
        raise ValueError("There is nothing to run: datasets and methods must name at least one.")
    return cells


def _several(wanted: Any) -> Iterable[Any]:
    """Return what was given as several; a single name would be taken for its letters."""
    return [wanted] if isinstance(wanted, str | BenchmarkDataset | BenchmarkMethod) else wanted


def _check_splits(sets: Sequence[BenchmarkDataset], wanted: Sequence[str] | None) -> None:
    """Say which sets cannot be divided in any of the ways that are wanted."""
    if wanted is None:
        return
    for split in wanted:
        look_up("split", split, dict.fromkeys(SPLITS))
    lacking = [one.name for one in sets if not set(one.splits) & set(wanted)]
    if lacking:
        sentence = f"There is no {' or '.join(wanted)} split of {', '.join(lacking)}"
        if len(lacking) == len(sets):
            raise ValueError(f"{sentence}; censquant bench --list says which there are.")
        warnings.warn(f"{sentence}: left out.", stacklevel=3)


def _check_variants(
    suite: Suite, sets: Sequence[BenchmarkDataset], ways: Sequence[BenchmarkMethod]
) -> None:
    """Refuse sets and methods on which the suite's variants would all be the same."""
    if any(variant.n_train is not None for variant in suite.variants):
        for dataset in sets:
            if dataset.kind != "synthetic":
                raise ValueError(
                    f"The suite {suite.name!r} varies the number of rows, so its sets must be "
                    f"synthetic, got {dataset.name!r}."
                )
    varied = {name for variant in suite.variants for name in variant.options}
    for method in ways if varied and sets else ():
        model = method.build(sets[0], {}, FIRST_SEED)
        known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        if missing := sorted(varied - set(known)):
            raise ValueError(
                f"The suite {suite.name!r} varies {', '.join(missing)}, which the method "
                f"{method.name!r} does not have."
            )


def chosen_datasets(
    wanted: str | BenchmarkDataset | Iterable[str | BenchmarkDataset],
) -> list[BenchmarkDataset]:
    """Return data sets for names, kinds, and a user's own ones."""
    kinds = {kind: _of_kind(kind) for kind in ("synthetic", "overlay", "survival")}
    kinds["small"] = _SYNTHETIC + _SURVIVAL
    found: dict[str, BenchmarkDataset] = {}
    for one in _several(wanted):
        if isinstance(one, BenchmarkDataset):
            if found.get(one.name, one) is not one:
                raise ValueError(f"Two data sets are called {one.name!r}; rename one of them.")
            found[one.name] = one
        elif isinstance(one, str):
            found |= {name: get_dataset(name) for name in kinds.get(one, (one,))}
        else:
            raise TypeError(
                f"datasets must hold names, or what own_dataset returns, got {type(one).__name__}."
            )
    return list(found.values())


def chosen_methods(
    wanted: str | BenchmarkMethod | Iterable[str | BenchmarkMethod],
) -> list[BenchmarkMethod]:
    """Return methods for names and a user's own ones; peers must be installed."""
    found: dict[str, BenchmarkMethod] = {}
    for one in _several(wanted):
        if not isinstance(one, str | BenchmarkMethod):
            raise TypeError(
                f"methods must hold names, or what own_method returns, got {type(one).__name__}."
            )
        method = one if isinstance(one, BenchmarkMethod) else get_method(one)
        if method.name in PEER_TITLES:
            make_peer(method.name)  # says what to install before anything is fitted
        if found.get(method.name, method) is not method:
            raise ValueError(f"Two methods are called {method.name!r}; rename one of them.")
        found[method.name] = method
    return list(found.values())


def _methods_of(suite: Suite) -> tuple[str, ...]:
    return suite.methods + (available_peers() if suite.name == "peers" else ())


def _splits(
    dataset: BenchmarkDataset, wanted: Sequence[str] | None, *, grouped: bool
) -> tuple[str, ...]:
    if wanted is None:
        return dataset.splits if grouped or "random" not in dataset.splits else ("random",)
    return tuple(split for split in dataset.splits if split in wanted)
