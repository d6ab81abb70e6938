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
from censquant.dask._cluster import Session
from censquant.dask._rounds import (
    Contribution,
    Job,
    Progress,
    Replica,
    RoundCheckpoint,
    RoundPlan,
    State,
    Window,
    average,
    batch_of_copies,
    initial_state,
    mean_loss,
    stored_replicas,
    take_part,
    train_in_rounds,
    train_locally,
    validate,
)
from censquant.dask._rows import Partitions, Preparation, Reader, Statistics, Table, balance
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._split_fit import SplitFit

FEWEST_ROWS = 20_000
"""Rows per copy of the network, unless a user chooses the number of copies.

With fewer, a pass has too few steps: more copies would be faster and clearly worse.
"""


@dataclass(frozen=True, eq=False)
class ClusterFit:
    """One fit on a cluster, of one estimator or of several to the same rows."""

    session: Session
    partitions: Partitions
    reader: Reader
    statistics: Statistics  # of all rows
    sample: Table  # rows from which the follow-up is learned
    n_replicas: int | None  # copies of the network; None for one per thread
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
            _seed_number(fit.holdout_seed),
        )
        replicas = self.partitions.replicas(session, self.reader, preparation, groups)
        sizes = [session.submit(_count_rows, replica) for replica in replicas]
        counts = session.results(sizes)
        session.release(sizes)
        _check_held_out(estimator, np.sum(counts, axis=0))
        config, plan = _plan_rounds(
            fit.config, max(count[0] for count in counts), len(groups), fewest_passes
        )
        networks, histories = [], []
        for member in range(estimator.n_members):
            network = fit.new_network(member)
            seed = _seed_number(fit.member_seeds[member])
            job = Job(network, fit.objective, config, plan, seed)
            store = self._store(name, member, estimator, len(groups))
            progress = self._train(job, replicas, store, validated=estimator.early_stopping)
            network.load_state(take_part(progress.result, "network."))
            networks.append(network)
            histories.append(progress.history)
        session.release(replicas)
        sample = self.sample
        fit.finish(networks, histories, sample.X, sample.target, sample.weight)

    def _train(
        self, job: Job, replicas: list[Any], store: RoundCheckpoint | None, *, validated: bool
    ) -> Progress:
        session = self.session
        shared = session.submit(_identity, job)

        def run_round(state: State, window: Window) -> Contribution:
            # A task and not scattered data: what is lost with a worker can then be made again.
            begun = session.submit(_identity, state)
            parts = [
                session.submit(train_locally, replica, shared, begun, window)
                for replica in replicas
            ]
            root = session.reduce(average, parts)
            result: Contribution = session.result(root)
            session.release([begun, *parts, root])
            return result

        def validate_state(state: State) -> float:
            begun = session.submit(_identity, state)
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
                validate_state if validated else None,
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
        return balance(sizes, min(wanted, n_used))

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


def _plan_rounds(
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


def _identity(value: Any) -> Any:
    return value


def _count_rows(replica: Replica) -> tuple[int, int, int, int]:
    """Return numbers of rows and of events, of training and of validation rows."""
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


def _seed_number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1, np.uint64)[0])
