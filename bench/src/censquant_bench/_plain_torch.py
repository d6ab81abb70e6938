"""A training loop as torch users write it: the yardstick of the speed tables, and nothing else."""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def plain_module(
    n_inputs: int, n_outputs: int, *, n_hidden: int = 100, activation: str = "relu"
) -> torch.nn.Module:
    """Return the paper's dense network: two hidden layers."""
    function = {"relu": torch.nn.ReLU, "gelu": torch.nn.GELU}[activation]
    return torch.nn.Sequential(
        torch.nn.Linear(n_inputs, n_hidden),
        function(),
        torch.nn.Linear(n_hidden, n_hidden),
        function(),
        torch.nn.Linear(n_hidden, n_outputs),
    )


def _check(error: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    return torch.maximum(tau * error, (tau - 1) * error)


def plain_portnoy(taus: Sequence[float], y_star: float) -> Loss:
    """Return Portnoy's loss with levels by the nearest prediction, for autograd."""
    tau = torch.tensor(taus)

    def loss(output: torch.Tensor, target: torch.Tensor, censored: torch.Tensor) -> torch.Tensor:
        observed_loss = _check(target[~censored] - output[~censored], tau).sum()
        predicted, limit = output[censored], target[censored]
        with torch.no_grad():
            level = tau[(predicted - limit).abs().argmin(dim=1)][:, None]
            weight = torch.where(tau < level, 1.0, (tau - level) / (1 - level))
        censored_loss = weight * _check(limit - predicted, tau) + (1 - weight) * _check(
            y_star - predicted, tau
        )
        return (observed_loss + censored_loss.sum()) / len(output)

    return loss


def plain_pinball(taus: Sequence[float]) -> Loss:
    """Return the check loss of the rows whose event was observed."""
    tau = torch.tensor(taus)

    def loss(output: torch.Tensor, target: torch.Tensor, censored: torch.Tensor) -> torch.Tensor:
        observed = ~censored
        return _check(target[observed] - output[observed], tau).sum() / len(output)

    return loss


def plain_lognormal() -> Loss:
    """Return the censored likelihood of a log-normal time."""

    def loss(output: torch.Tensor, target: torch.Tensor, censored: torch.Tensor) -> torch.Tensor:
        scale = torch.nn.functional.softplus(output[:, 1:]) + 1e-6
        u = (target.clamp_min(1e-6).log() - output[:, :1]) / scale
        survival = 0.5 * torch.erfc(u / math.sqrt(2.0)) + 1e-4
        log_density = -0.5 * u**2 - scale.log()
        return -torch.where(censored[:, None], survival.log(), log_density).mean()

    return loss


Rows = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]
"""Features, times, and whether the event was observed."""


def plain_training(
    module: torch.nn.Module, loss: Loss, rows: Rows, n_steps: int, *, batch_size: int = 128
) -> float:
    """Train by autograd, unfused Adam and indexing batch by batch; return the seconds per step."""
    features, times, event = rows
    x, y = torch.from_numpy(features), torch.from_numpy(times)[:, None]
    censored = torch.from_numpy(~event)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01, weight_decay=1e-4, foreach=False)
    start = time.perf_counter()
    done = 0
    while done < n_steps:
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(done))
        for first in range(0, len(x), batch_size):
            index = order[first : first + batch_size]
            optimizer.zero_grad()
            value = loss(module(x[index]), y[index], censored[index])
            torch.autograd.backward(value)
            optimizer.step()
            done += 1
            if done == n_steps:
                break
    return (time.perf_counter() - start) / n_steps


def plain_step_seconds(
    rows: Rows, n_outputs: int, loss: Loss, *, activation: str = "relu", n_steps: int = 60
) -> float:
    """Return the seconds per step of the plain loop on these rows, on one thread of torch."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            module = plain_module(rows[0].shape[1], n_outputs, activation=activation)
            plain_training(module, loss, rows, 5)  # warm up
            return min(plain_training(module, loss, rows, n_steps // 3) for _ in range(3))
    finally:
        torch.set_num_threads(n_threads)
