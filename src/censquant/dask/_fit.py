"""The fit of a neural estimator whose rows are on the workers of a cluster."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from censquant._engine.training._loop import TrainingConfig
from censquant._progress import Bar
from censquant._validation import check_integer
from censquant.dask._checkpoint import RoundCheckpoint, stored_replicas
from censquant.dask._cluster import Session
from censquant.dask._collections import Partitions, Preparation, balanced
from censquant.dask._reading import Reader, Table
from censquant.dask._rounds import (
    Contribution,
    Job,
    Replica,
    RoundPlan,
    State,
    Window,
    averaged,
    batch_of_copies,
    initial_state,
    mean_loss,
    part_of,
    train_locally,
    validate,
)
from censquant.dask._statistics import Statistics
from censquant.dask._training import Progress, train_in_rounds
from censquant.estimators import NeuralRegressor
from censquant.estimators.neural import SplitFit

FEWEST_ROWS = 20_000
"""Rows per copy of the network, unless a user chooses the number of copies.

With fewer, a pass has too few steps: more copies would be faster and clearly worse.
"""


@dataclass(frozen=True, eq=False)
class ClusterFit:
    """One fit on a cluster, of one estimator or of several to the same rows.

    Parameters
    ----------
    session : Session
    partitions : Partitions
    reader : Reader
    statistics : Statistics
        Of all rows.
    sample : Table
        Rows from which the follow-up is learned.
    n_replicas : int or None
        Copies of the network; None for one per thread.
    checkpoint_dir : str, path or None
    verbose : int
    """

    session: Session
    partitions: Partitions
    reader: Reader
    statistics: Statistics
    sample: Table
    n_replicas: int | None
    checkpoint_dir: str | os.PathLike[str] | None
    verbose: int

    def fit(self, estimator: NeuralRegressor, *, name: str = "", fewest_passes: float = 0) -> None:
        """Fit the estimator, whose steps are prolonged to so many passes if they are fewer."""
        fit = SplitFit(estimator, self.statistics.summary())
        session = self.session
        groups = self._groups(name)
        preparation = Preparation(
            fit.units,
            fit.objective,
            self.statistics.n_rows / self.statistics.moments.weight,
            estimator.validation_fraction if estimator.early_stopping else 0.0,
            _number(fit.holdout_seed),
        )
        replicas = self.partitions.replicas(session, self.reader, preparation, groups)
        sizes = [session.submit(_sizes, replica) for replica in replicas]
        counts = session.results(sizes)
        session.release(sizes)
        _check_held_out(estimator, np.sum(counts, axis=0))
        config, plan = _planned(
            fit.config, max(count[0] for count in counts), len(groups), fewest_passes
        )
        networks, histories = [], []
        for member in range(estimator.n_members):
            network = fit.new_network(member)
            seed = _number(fit.member_seeds[member])
            job = Job(network, fit.objective, config, plan, seed)
            store = self._store(name, member, estimator, len(groups))
            progress = self._train(job, replicas, store, judged=estimator.early_stopping)
            network.load_state(part_of(progress.result, "network."))
            networks.append(network)
            histories.append(progress.history)
        session.release(replicas)
        sample = self.sample
        fit.finish(networks, histories, sample.X, sample.target, sample.weight)

    def _train(
        self, job: Job, replicas: list[Any], store: RoundCheckpoint | None, *, judged: bool
    ) -> Progress:
        session = self.session
        shared = session.submit(_unchanged, job)

        def run_round(state: State, window: Window) -> Contribution:
            # A task and not scattered data: what is lost with a worker can then be made again.
            begun = session.submit(_unchanged, state)
            parts = [
                session.submit(train_locally, replica, shared, begun, window)
                for replica in replicas
            ]
            root = session.reduce(averaged, parts)
            result: Contribution = session.result(root)
            session.release([begun, *parts, root])
            return result

        def judge(state: State) -> float:
            begun = session.submit(_unchanged, state)
            parts = [session.submit(validate, replica, shared, begun) for replica in replicas]
            root = session.reduce(mean_loss, parts)
            loss: float = session.result(root)[0]
            session.release([begun, *parts, root])
            return loss

        n_passes = -(-job.plan.total_steps // job.plan.steps_per_pass)
        bar = Bar("training", n_passes, unit="passes") if self.verbose else None
        try:
            return train_in_rounds(
                job,
                Progress(initial_state(job.network, job.config.weight_decay)),
                run_round,
                judge if judged else None,
                store,
                None if bar is None else lambda progress: bar.advance(1),
            )
        finally:
            session.release([shared])
            if bar is not None:
                bar.close()

    def _groups(self, name: str) -> list[list[int]]:
        """Return the partitions of each copy of the network."""
        sizes = self.statistics.sizes
        n_used = sum(size > 0 for size in sizes)
        if self.n_replicas is not None:
            wanted = check_integer("n_replicas", self.n_replicas, minimum=1)
        else:
            stored = None
            if self.checkpoint_dir is not None:
                stored = stored_replicas(self._path(name, 0))
            threads = sum(self.session.threads.values())
            wanted = stored or max(1, min(threads, self.statistics.n_rows // FEWEST_ROWS))
        return balanced(sizes, min(wanted, n_used))

    def _path(self, name: str, member: int) -> Path:
        assert self.checkpoint_dir is not None
        return Path(self.checkpoint_dir) / f"{name or 'network'}-{member}.checkpoint"

    def _store(
        self, name: str, member: int, estimator: NeuralRegressor, n_replicas: int
    ) -> RoundCheckpoint | None:
        if self.checkpoint_dir is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        settings = {k: v for k, v in estimator.get_params().items() if k != "verbose"}
        digest.update(repr((sorted(settings.items()), member, n_replicas)).encode())
        statistics, moments = self.statistics, self.statistics.moments
        digest.update(repr((statistics.sizes, moments.weight)).encode())
        times = statistics.times
        for array in (moments.mean, moments.squares, *times.events, *times.censored):
            digest.update(np.ascontiguousarray(array).tobytes())
        return RoundCheckpoint(self._path(name, member), digest.hexdigest(), n_replicas)


def _planned(
    config: TrainingConfig, most_rows: int, n_copies: int, fewest_passes: float
) -> tuple[TrainingConfig, RoundPlan]:
    """Return how the copies train, the largest of which has so many rows."""
    seen = config.max_epochs * most_rows
    if config.max_steps is not None:
        # As many rows are seen as on one machine, by all copies together.
        own = -(-config.max_steps * config.batch_size // n_copies)
        seen = max(own, round(fewest_passes * most_rows))
    batch = batch_of_copies(config.batch_size, n_copies, seen)
    steps = -(-most_rows // batch)
    total = config.max_epochs * steps if config.max_steps is None else -(-seen // batch)
    return replace(config, batch_size=batch), RoundPlan(steps, total)


def check_checkpoint_dir(
    folder: str | os.PathLike[str] | None, random_state: Any
) -> str | os.PathLike[str] | None:
    """Return the folder, made if it is missing; a training can only resume with its seed."""
    if folder is None:
        return None
    if not isinstance(random_state, int | np.integer) or isinstance(random_state, bool):
        raise ValueError(
            "random_state must be an integer with checkpoint_dir, since the same call must draw "
            f"the same rows to resume, got {random_state!r}."
        )
    Path(folder).mkdir(parents=True, exist_ok=True)
    return folder


def _unchanged(value: Any) -> Any:
    return value


def _sizes(replica: Replica) -> tuple[int, int, int, int]:
    """Return numbers of rows and of events, of those to train on and of those to judge by."""
    rows, held = replica.rows, replica.validation
    return len(rows), int(rows.event.sum()), len(held), int(held.event.sum())


def _check_held_out(estimator: NeuralRegressor, counts: Any) -> None:
    _, n_events, _, n_held = counts
    if estimator.early_stopping and not (n_events and n_held):
        raise ValueError(
            f"early_stopping needs events among the {estimator.validation_fraction:g} of rows held "
            f"out and among the others, got {n_held} and {n_events}: give more data, another "
            "validation_fraction, or early_stopping=False."
        )


def _number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1, np.uint64)[0])
