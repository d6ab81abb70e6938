"""Small trainings, and the later shape head in small: what the engine's tests run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtri

from censquant.losses import LEVEL_RULES, portnoy
from censquant.networks import DenseNetwork
from censquant.objectives import GridObjective, Portnoy
from censquant.training import Rows

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


@dataclass(frozen=True)
class ShapeHead:
    """Median and gaps around a normal shape: raw outputs are median, scale and a shape a gap.

    Gap ``k`` is ``softplus(log(e - 1) + scale + rho_k + shape_k)`` times the normal's own gap. The
    vector ``rho`` is the head's own: a shape common to all rows. Rough shapes are penalised.
    """

    taus: tuple[float, ...]
    row_penalty: float = 0.01
    own_penalty: float = 0.1

    @cached_property
    def base(self):
        return ndtri(np.array(self.taus))

    @property
    def n_outputs(self):
        return len(self.taus)

    @property
    def n_raw(self):
        return self.n_outputs + 1

    @property
    def middle(self):
        return self.n_outputs // 2

    def initial_parameters(self):
        return np.zeros(self.n_outputs - 1, dtype=np.float32)

    def _before_softplus(self, raw, parameters):
        return np.log(np.e - 1) + raw[:, 1:2] + parameters + raw[:, 2:]

    def forward(self, raw, parameters, out):
        gaps = np.logaddexp(0, self._before_softplus(raw, parameters)) * np.diff(self.base)
        steps = np.concatenate([np.zeros((len(raw), 1)), np.cumsum(gaps, axis=1)], axis=1)
        steps -= steps[:, self.middle, None]
        out[:] = self.base[self.middle] + raw[:, :1] + steps

    def backward(self, raw, parameters, out_gradient, raw_gradient, parameter_gradient):
        gradient = out_gradient.astype(float)
        above = np.cumsum(gradient[:, ::-1], axis=1)[:, ::-1][:, 1:]
        below = np.cumsum(gradient, axis=1)[:, :-1]
        is_above = np.arange(self.n_outputs - 1) >= self.middle
        by_gap = np.where(is_above, above, -below) * np.diff(self.base)
        by_shape = by_gap / (1 + np.exp(-self._before_softplus(raw, parameters)))
        raw_gradient[:, 0] = gradient.sum(axis=1)
        raw_gradient[:, 1] = by_shape.sum(axis=1)
        row_value, row_slope = _roughness(raw[:, 2:].astype(float), self.row_penalty / len(raw))
        own_value, own_slope = _roughness(parameters[None].astype(float), self.own_penalty)
        raw_gradient[:, 2:] = by_shape + row_slope
        parameter_gradient[:] = by_shape.sum(axis=0) + own_slope[0]
        return row_value + own_value


def _roughness(values, strength):
    """Sum of squared differences of neighbours, with its gradient."""
    differences = np.diff(values, axis=1)
    gradient = np.zeros_like(values)
    gradient[:, 1:] += 2 * strength * differences
    gradient[:, :-1] -= 2 * strength * differences
    return strength * (differences**2).sum(), gradient


@dataclass(frozen=True)
class MixedObjective(GridObjective):
    """Normal likelihood, read off the end quantiles, and 0.3 of Portnoy's loss."""

    def gradient(self, output, batch, out):
        by_check = np.empty_like(output)
        check = portnoy(
            output,
            batch.time,
            batch.event,
            batch.weight,
            batch.level,
            self._levels,
            LEVEL_RULES["interpolate"],
            1.0,
            1e30,
            True,
            by_check,
        )
        likelihood, by_likelihood = self._likelihood(output.astype(float), batch)
        out[:] = by_likelihood + 0.3 * by_check
        return likelihood + 0.3 * check

    def _likelihood(self, output, batch):
        base = ndtri(np.array(self.taus))
        width = base[-1] - base[0]
        scale = (output[:, -1] - output[:, 0]) / width
        place = output[:, 0] - scale * base[0]
        u = (batch.time - place) / scale
        log_density = -0.5 * u**2 - 0.5 * np.log(2 * np.pi)
        loss = np.where(batch.event, np.log(scale) - log_density, -log_ndtr(-u))
        by_u = np.where(batch.event, u, np.exp(log_density - log_ndtr(-u)))
        by_scale = np.where(batch.event, 1 / scale, 0.0) - by_u * u / scale
        by_place = -by_u / scale
        gradient = np.zeros_like(output)
        gradient[:, 0] = by_place * (1 + base[0] / width) - by_scale / width
        gradient[:, -1] = -by_place * base[0] / width + by_scale / width
        weight = batch.weight / len(batch)
        return float((loss * weight).sum()), gradient * weight[:, None]

    def validation_loss(self, output, rows):
        return self._likelihood(output.astype(float), rows)[0]
