"""Small trainings: what the engine's tests run."""

import numpy as np

from censquant._engine.networks._combined import HeadedNetwork, LinearSkip, ShapeHead
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.objectives._likelihoods import shape_knots
from censquant._engine.training._rows import Rows

TAUS = (0.25, 0.5, 0.75)


def censored_rows(n=60, seed=0, n_features=2):
    """Rows whose times depend on the first feature, about a third of them censored."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, n_features))
    event_time = 1 + 0.5 * x[:, 0] + 0.3 * rng.normal(size=n)
    censoring = rng.uniform(0.3, 2.5, size=n)
    return Rows.from_arrays(
        x, time=np.minimum(event_time, censoring), event=event_time <= censoring
    )


def portnoy_objective(**options):
    return Portnoy(TAUS, **{"level_rule": "interpolate", "y_star": 3.0, **options})


def dense(n_outputs=3, seed=0, **options):
    return DenseNetwork([2, 8, n_outputs], rng=np.random.default_rng(seed), **options)


class Recorder:
    """A callback that notes its calls and may do something after an epoch."""

    def __init__(self, name="", calls=None, on_epoch=None):
        self.name = name
        self.calls = [] if calls is None else calls
        self._on_epoch = on_epoch

    def on_start(self, run):
        self.calls.append((self.name, "start", run.n_epochs))

    def on_epoch(self, run):
        self.calls.append((self.name, "epoch", run.n_epochs))
        if self._on_epoch is not None:
            self._on_epoch(run)

    def on_end(self, run):
        self.calls.append((self.name, "end", run.n_epochs))


def stop_after(n_epochs):
    """A callback that stops a training after so many epochs."""
    return Recorder(on_epoch=lambda run: run.stop() if run.n_epochs == n_epochs else None)


def shape_head(n_levels=3, n_rows=600):
    """A shape head around the normal distribution, with penalties of a size that tests notice."""
    return ShapeHead(tuple(shape_knots("normal", n_levels).tolist()), n_rows)


def shape_network():
    """A network with everything that ShapeNN trains."""
    head = shape_head()
    return HeadedNetwork(LinearSkip(dense(head.n_raw), 2), head)
