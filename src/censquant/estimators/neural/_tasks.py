"""Parts of a fit as objects, which can be pickled where closures cannot."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._engine.networks import Network
from censquant._engine.training import Objective, Rows, RowSource, TrainingConfig
from censquant._trees._follow_up import FollowUp

if TYPE_CHECKING:
    from censquant.estimators.neural._trains_on_rows import TrainsOnRows

History = list[dict[str, Any]]


@dataclass(frozen=True)
class MemberTraining:
    """The training of one member, to be run beside others."""

    estimator: "TrainsOnRows"
    objective: Objective
    rows: RowSource
    config: TrainingConfig
    rng: np.random.Generator
    options: dict[str, Any]

    def __call__(self, stopping: threading.Event) -> tuple[Network, History]:
        return self.estimator._train_member(
            self.objective, self.rows, self.config, self.rng, stopping=stopping, **self.options
        )


@dataclass(frozen=True)
class FollowUpTraining:
    """The fit of the follow-up, beside the members; it is short, so Ctrl-C does not stop it."""

    rows: Rows
    rng: np.random.Generator

    def __call__(self, stopping: threading.Event) -> FollowUp:
        rows = self.rows
        return FollowUp.fit(
            rows.x.reshape(len(rows), -1), rows.time, rows.event, rows.weight, self.rng
        )


def joined(histories: Sequence[History]) -> History:
    """Return the records of all members; those of several say whose they are."""
    return [
        record if len(histories) == 1 else {"member": member, **record}
        for member, history in enumerate(histories)
        for record in history
    ]
