"""Run a plan: cells side by side on one machine or many, rows saved as they finish."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

from censquant._progress import Bar
from censquant._validation import check_n_jobs
from censquant_bench._backends import CLUSTERS, as_they_finish, backend_of
from censquant_bench._cells import BenchmarkCell, DataUnavailableError, Key, Row, run_cell
from censquant_bench._results import ResultsFile, key_of

Task = tuple[BenchmarkCell, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a worker returns for a task: rows, or why the data are not available."""

    cell: BenchmarkCell
    rows: list[Row]
    missing: Exception | None = None


def run_plan(
    cells: Sequence[BenchmarkCell],
    *,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    address: str | None = None,
    verbose: int = 0,
) -> list[Row]:
    """Run all cells that are not finished and return the rows of the plan.

    Parameters
    ----------
    cells : sequence of BenchmarkCell
        From `plan`.
    out : path, optional
        Results file. Rows that it holds already are not recomputed, so a run that was ended by
        whatever cause resumes where it stopped.
    n_jobs : int, default -1
        Simultaneous fits; -1 uses all cores. Cells run in processes; where there are fewer cells
        than that, the seeds of a cell train side by side.
    backend : str, optional
        A backend of joblib: ``"loky"``, ``"threading"``, or, on a cluster, ``"dask"`` or ``"ray"``.
        By default the one of an enclosing ``joblib.parallel_config``, else loky.
    address : str, optional
        Address of the cluster that dask or ray should use.
    verbose : int, default 0
        With 1 a bar shows the rows done and the time left.

    Returns
    -------
    rows : list of dict
        In the order of the plan.

    Examples
    --------
    >>> from censquant_bench import plan, run_plan
    >>> cells = plan("main", datasets=["weibull"], methods=["excl_censor"], seeds=2)
    >>> [row["seed"] for row in run_plan(cells, n_jobs=1)]
    [111, 112]
    """
    check_n_jobs(n_jobs)
    with ExitStack() as stack:
        results = None if out is None else stack.enter_context(ResultsFile(out))
        finished = set() if results is None else results.finished
        known = {} if results is None else {key_of(row): row for row in results.rows}
        _refuse_other_origin(cells, known)
        tasks = _tasks(cells, finished)
        n_rows = sum(len(seeds) for _, seeds in tasks)
        bar = Bar("benchmark", n_rows, unit="runs") if verbose and tasks else None
        stack.enter_context(nullcontext() if bar is None else bar)
        missing: dict[str, Exception] = {}
        for outcome in _outcomes(tasks, n_jobs, backend, address):
            if outcome.missing is not None:
                missing[outcome.cell.dataset.title] = outcome.missing
            if results is not None:
                results.append(outcome.rows)
            known |= {key_of(row): row for row in outcome.rows}
            if bar is not None:
                title = outcome.cell.dataset.title
                bar.advance(max(1, len(outcome.rows)), description=title)
    keys = [cell.key(seed) for cell in cells for seed in cell.seeds]
    rows = [known[key] for key in keys if key in known]
    if missing and not rows:
        raise next(iter(missing.values()))
    for title, error in missing.items():
        warnings.warn(f"{title} was left out: {error}", stacklevel=2)
    return rows


def _tasks(cells: Sequence[BenchmarkCell], finished: set[tuple[str, ...]]) -> list[Task]:
    """Return cells with some of their missing seeds: the most that is lost when a run is ended."""
    tasks: list[Task] = []
    for cell in cells:
        seeds = tuple(seed for seed in cell.seeds if cell.key(seed) not in finished)
        size = cell.dataset.seeds_together
        tasks += [(cell, seeds[start : start + size]) for start in range(0, len(seeds), size)]
    return tasks


def _one_by_one(tasks: Sequence[Task], *, threads: bool) -> list[Task]:
    """Return one task per seed, but leave together the seeds that may train in threads."""
    return [
        (cell, part)
        for cell, seeds in tasks
        for part in ((seeds,) if threads and cell.threadsafe else ((seed,) for seed in seeds))
    ]


def _refuse_other_origin(cells: Sequence[BenchmarkCell], known: Mapping[Key, Row]) -> None:
    """Refuse to mix with rows of other data or another estimator under the same name."""
    data: set[tuple[str, str]] = set()
    ways: set[tuple[str, str]] = set()
    for row in known.values():
        made_of, made_by = (row.get("fingerprint") or "/").split("/")
        data.add((row["dataset"], made_of))
        ways.add((row["method"], made_by))
    for cell in cells:
        name = cell.dataset.name
        if any(one == name and origin != cell.dataset.fingerprint for one, origin in data):
            raise ValueError(
                f"The results hold runs on {name!r} that were made of other data, levels or "
                "test_share; choose another name or folder."
            )
        name = cell.method.name
        if any(one == name and origin != cell.method.fingerprint for one, origin in ways):
            raise ValueError(
                f"The results hold runs of {name!r} that were made by another class or other "
                "parameters; choose another name or folder."
            )


def _outcomes(
    tasks: Sequence[Task],
    n_jobs: int,
    backend: str | None,
    address: str | None,
) -> Iterator[Outcome]:
    import joblib

    with backend_of(backend, address):
        n_fits, on_cluster = joblib.effective_n_jobs(n_jobs), backend in CLUSTERS
        if len(tasks) < n_fits:
            tasks = _one_by_one(tasks, threads=not on_cluster)
        n_workers = max(1, min(n_fits, len(tasks)))
        n_threads = 1 if on_cluster else n_fits // n_workers
        work = [(cell, seeds, n_threads, n_workers) for cell, seeds in tasks]
        if n_workers == 1 and not on_cluster:
            yield from (_work(*arguments) for arguments in work)
            return
        calls = [joblib.delayed(_work)(*arguments) for arguments in work]
        yield from as_they_finish(calls, n_workers)


def _work(cell: BenchmarkCell, seeds: tuple[int, ...], n_threads: int, n_workers: int) -> Outcome:
    try:
        return Outcome(cell, run_cell(cell, seeds, n_threads=n_threads, n_workers=n_workers))
    except DataUnavailableError as error:
        return Outcome(cell, [], error.reason)


def frame_of(rows: Sequence[Row]) -> Any:
    """Return rows as a pandas DataFrame, one column per score."""
    import pandas as pd

    return pd.DataFrame(list(rows))
