"""From the names of an experiment to its cells."""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from censquant._validation import check_integer, look_up
from censquant_bench._cells import FIRST_SEED, BenchmarkCell
from censquant_bench._datasets import SPLITS, BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench._registry import DATASET_GROUPS, get_dataset, get_method, get_suite
from censquant_bench._suites import Suite
from censquant_bench.peers import PEER_TITLES, available_peers, make_peer

_USUAL_RUNS = 10


def plan(
    suite: str | Suite = "main",
    *,
    datasets: Iterable[str | BenchmarkDataset] | None = None,
    methods: Iterable[str | BenchmarkMethod] | None = None,
    seeds: int | range | None = None,
    splits: Sequence[str] | None = None,
) -> tuple[BenchmarkCell, ...]:
    """Return the cells of an experiment.

    Parameters
    ----------
    suite : str or Suite, default "main"
        One of `SUITES` by name, or one of your own.
    datasets : iterable of str or BenchmarkDataset, optional
        Instead of the suite's own. Beside names, ``"synthetic"``, ``"overlay"``, ``"survival"``,
        ``"field"``, ``"bounds"`` stand for all sets of a kind, ``"small"`` for the 14 synthetic and
        7 survival sets; `DATASET_GROUPS` has all such names.
    methods : iterable of str or BenchmarkMethod, optional
        Instead of the suite's own.
    seeds : int or range, optional
        Number of runs of every cell, from seed 111 on, as in the paper; in comparisons with other
        published results from their first division on, and no more than a set or a method has. A
        range names the runs themselves.
    splits : sequence of {"random", "grouped"}, optional
        By default random, and in ``main`` and ``peers`` also grouped where rows repeat.

    Returns
    -------
    cells : tuple of BenchmarkCell

    Examples
    --------
    >>> from censquant_bench import plan
    >>> cells = plan("main", datasets=["gbsg"], methods=["cqrnn"], seeds=3)
    >>> len(cells), cells[0].seeds
    (1, (111, 112, 113))
    """
    chosen = chosen_suite(suite)
    if chosen.draw is not None:
        raise ValueError(
            f"The suite {chosen.name!r} draws pictures and has no cells to plan; call run with it."
        )
    if seeds is not None and not isinstance(seeds, range):
        check_integer("seeds", seeds, minimum=1)
    sets = chosen_datasets(chosen.datasets if datasets is None else datasets)
    ways = chosen_methods(_methods_of(chosen) if methods is None else methods)
    splits = None if splits is None else list(_several(splits))
    _check_splits(sets, splits)
    _check_variants(chosen, sets, ways)
    cells = tuple(
        BenchmarkCell(
            chosen.name,
            dataset,
            method,
            split,
            variant.label,
            variant.options,
            variant.n_train if dataset.kind == "synthetic" else None,
            _seeds(chosen, dataset, method, seeds),
            variant.traced,
            chosen.conventions,
        )
        for dataset in sets
        for split in _splits(dataset, splits, grouped=chosen.grouped)
        for method in ways
        for variant in chosen.variants
    )
    if not cells:
        raise ValueError("There is nothing to run: datasets and methods must name at least one.")
    if not any(cell.seeds for cell in cells):
        raise ValueError(f"There is nothing to run: no data set has a run of {seeds}.")
    return cells


def _seeds(
    suite: Suite, dataset: BenchmarkDataset, method: BenchmarkMethod, wanted: int | range | None
) -> tuple[int, ...]:
    first = suite.first_seed
    if not isinstance(wanted, range):
        wanted = range(first, first + (wanted or suite.n_runs.get(dataset.kind, _USUAL_RUNS)))
    limits = [limit for limit in (dataset.most_runs, method.most_runs) if limit is not None]
    return tuple(seed for seed in wanted if seed - first < min(limits, default=math.inf))


def chosen_suite(wanted: str | Suite) -> Suite:
    """Return the suite of a name, or the one that was given."""
    return wanted if isinstance(wanted, Suite) else get_suite(wanted)


def _several(wanted: Any) -> Iterable[Any]:
    """Return what was given as several; a single name would be read letter by letter."""
    return [wanted] if isinstance(wanted, str | BenchmarkDataset | BenchmarkMethod) else wanted


def _check_splits(sets: Sequence[BenchmarkDataset], wanted: Sequence[str] | None) -> None:
    """Name the sets that cannot be divided in any of the ways that are wanted."""
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
    """Return data sets for names, groups of sets, and a user's own ones."""
    found: dict[str, BenchmarkDataset] = {}
    for one in _several(wanted):
        if isinstance(one, BenchmarkDataset):
            if found.get(one.name, one) is not one:
                raise ValueError(f"Two data sets are called {one.name!r}; rename one of them.")
            found[one.name] = one
        elif isinstance(one, str):
            found |= {name: get_dataset(name) for name in DATASET_GROUPS.get(one, (one,))}
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
            make_peer(method.name)  # names what to install before anything is fitted
        if found.get(method.name, method) is not method:
            raise ValueError(f"Two methods are called {method.name!r}; rename one of them.")
        found[method.name] = method
    return list(found.values())


def _methods_of(suite: Suite) -> tuple[str | BenchmarkMethod, ...]:
    return suite.methods + (available_peers() if suite.with_peers else ())


def _splits(
    dataset: BenchmarkDataset, wanted: Sequence[str] | None, *, grouped: bool
) -> tuple[str, ...]:
    if wanted is None:
        return dataset.splits if grouped or "random" not in dataset.splits else ("random",)
    return tuple(split for split in dataset.splits if split in wanted)
