"""The trainings of one fit: the members of an ensemble, and beside them the follow-up."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._engine.networks import Network
from censquant._engine.training import (
    Callback,
    Checkpoint,
    Objective,
    RowSource,
    TrainingConfig,
    side_by_side,
)
from censquant._seeds import seed_sequence
from censquant._trees._follow_up import FollowUp
from censquant.estimators.neural._preparation import holdout
from censquant.estimators.neural._tasks import FollowUpTraining, History, MemberTraining

if TYPE_CHECKING:
    from censquant.estimators.neural._trains_on_rows import TrainsOnRows


def train_members(
    model: "TrainsOnRows",
    rows: RowSource,
    objective: Objective,
    config: TrainingConfig,
    callbacks: Sequence[Callback],
    checkpoint: Checkpoint | None,
) -> tuple[list[Network], FollowUp | None, list[History]]:
    """Train the members, and beside them the model of follow-up if anything is censored."""
    seeds = seed_sequence(model.random_state).spawn(model.n_members + 2)
    *rngs, follow_up_rng, holdout_rng = (np.random.default_rng(seed) for seed in seeds)
    everyone = rows.sample()
    validation: RowSource | None = None
    if model.early_stopping:
        rows, validation = holdout(rows, model.validation_fraction, holdout_rng)

    tasks: list[Callable[[threading.Event], Any]] = [
        MemberTraining(
            model,
            objective,
            rows,
            config,
            rng,
            {
                "validation": validation,
                "callbacks": callbacks,
                "checkpoint": None if checkpoint is None else checkpoint.for_member(member),
                "member": member,
            },
        )
        for member, rng in enumerate(rngs)
    ]
    if model._stands_alone and not everyone.event.all():
        tasks.append(FollowUpTraining(everyone, follow_up_rng))
    # Torch shares threads and random numbers between all of a process.
    n_jobs = 1 if model.network is not None else model.n_jobs
    results = side_by_side(tasks, n_jobs, stopping=model._stopping)
    trained, follow_up = results[: model.n_members], (*results[model.n_members :], None)[0]
    # Ctrl-C may come before some members have begun: those know nothing and are left out.
    begun = [result for result in trained if result[1]] or trained[:1]
    return [network for network, _ in begun], follow_up, [history for _, history in begun]
