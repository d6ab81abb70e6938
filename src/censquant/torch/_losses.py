"""The losses as torch functions, for anyone's own training loop."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from censquant._engine.losses._grid import LEVEL_RULES, pinball, portnoy
from censquant._validation import check_choice, check_number
from censquant.quantiles._grid import check_quantiles


class _Columns(NamedTuple):
    time: NDArray[Any]
    weight: NDArray[Any]
    taus: NDArray[Any]


class _KernelLoss(torch.autograd.Function):
    """A loss kernel on arrays as a differentiable torch function.

    The kernels are the only place where a loss is written. They give the gradient together with the
    value, so the backward pass only scales it.
    """

    @staticmethod
    def forward(ctx: Any, pred: Tensor, kernel: Callable[[Any, Any], float]) -> Tensor:
        values = np.ascontiguousarray(pred.detach().cpu().numpy())
        gradient = np.empty_like(values)
        loss = kernel(values, gradient)
        ctx.save_for_backward(torch.from_numpy(gradient).to(pred.device))
        return pred.new_tensor(loss)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return grad_outputs[0] * gradient, None


def portnoy_loss(
    pred: Tensor,
    time: Tensor,
    event: Tensor,
    taus: Sequence[float] | Tensor,
    *,
    level_rule: str = "nearest",
    y_star: float | None = None,
    cap: float | None = None,
    weight_below: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Mean over rows of Portnoy's censored check loss, summed over levels.

    The loss of CQRNN for one's own torch loop. The censoring levels come from ``pred`` itself and
    carry no gradient. On a GPU the predictions of a batch travel to the CPU and the gradient back.

    Parameters
    ----------
    pred : Tensor of shape (n, k), float32 or float64
        Predicted quantiles.
    time : Tensor of shape (n,)
    event : bool Tensor of shape (n,)
        True where the event was observed.
    taus : sequence of float
        Increasing levels inside (0, 1).
    level_rule : {"nearest", "lower", "interpolate"}, default "nearest"
    y_star : float, optional
        Pseudo-time that receives the probability mass beyond a censoring time; above all times.
        None means infinity.
    cap : float, optional
        Without ``y_star``: predictions above it are not pushed upwards.
    weight_below : float, default 1
        Weight of a censored row at levels below its own.
    weight : Tensor of shape (n,), optional
        Row weights.

    Returns
    -------
    loss : scalar Tensor

    Examples
    --------
    >>> import torch
    >>> from censquant.torch import portnoy_loss
    >>> pred = torch.tensor([[2.0, 3.0]], requires_grad=True)
    >>> portnoy_loss(
    ...     pred, torch.tensor([2.0]), torch.tensor([False]), [0.5, 0.75], y_star=10.0
    ... ).backward()
    >>> pred.grad
    tensor([[-0.5000, -0.2500]])
    """
    check_choice("level_rule", level_rule, LEVEL_RULES)
    limit = 1e30 if cap is None else check_number("cap", cap)
    limit = limit if y_star is None else check_number("y_star", y_star)
    check_number("weight_below", weight_below, minimum=0.0)
    columns = _columns(pred, taus, time, weight)
    _check_length("event", event, len(columns.time))
    observed = event.detach().cpu().numpy().astype(np.bool_)
    unknown = np.full(len(columns.time), -1, dtype=columns.time.dtype)

    def kernel(values: Any, gradient: Any) -> float:
        return float(
            portnoy(
                values,
                columns.time,
                observed,
                columns.weight,
                unknown,
                columns.taus,
                LEVEL_RULES[level_rule],
                weight_below,
                limit,
                y_star is None,
                gradient,
            )
        )

    return _apply(pred, kernel)


def pinball_loss(
    pred: Tensor, time: Tensor, taus: Sequence[float] | Tensor, *, weight: Tensor | None = None
) -> Tensor:
    """Mean over rows of the check loss of quantile regression, summed over levels.

    Parameters
    ----------
    pred : Tensor of shape (n, k), float32 or float64
        Predicted quantiles.
    time : Tensor of shape (n,)
        Times, all taken as observed events.
    taus : sequence of float
        Increasing levels inside (0, 1).
    weight : Tensor of shape (n,), optional
        Row weights.

    Returns
    -------
    loss : scalar Tensor

    Examples
    --------
    >>> import torch
    >>> from censquant.torch import pinball_loss
    >>> pinball_loss(torch.tensor([[3.0]]), torch.tensor([5.0]), [0.9])
    tensor(1.8000)
    """
    columns = _columns(pred, taus, time, weight)

    def kernel(values: Any, gradient: Any) -> float:
        return float(pinball(values, columns.time, columns.weight, columns.taus, gradient))

    return _apply(pred, kernel)


def _columns(
    pred: Tensor, taus: Sequence[float] | Tensor, time: Tensor, weight: Tensor | None
) -> _Columns:
    """Check shapes and bring everything beside ``pred`` to its type, as arrays."""
    levels = check_quantiles(np.asarray(taus, dtype=np.float64), name="taus")
    if pred.ndim != 2 or pred.shape[1] != len(levels) or time.shape != pred.shape[:1]:
        raise ValueError(
            f"pred must have shape (n, {len(levels)}) and time (n,), "
            f"got {tuple(pred.shape)} and {tuple(time.shape)}."
        )
    if pred.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"pred must be float32 or float64, got {pred.dtype}.")
    dtype = np.float32 if pred.dtype == torch.float32 else np.float64
    if weight is not None:
        _check_length("weight", weight, len(pred))

    def column(values: Tensor) -> NDArray[Any]:
        return np.ascontiguousarray(values.detach().cpu().numpy(), dtype=dtype)

    ones = np.ones(len(pred), dtype=dtype)
    return _Columns(column(time), ones if weight is None else column(weight), levels.astype(dtype))


def _check_length(name: str, column: Tensor, n_rows: int) -> None:
    # Compiled loops do not look at lengths: a shorter column would be read past its end.
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), got {tuple(column.shape)}.")


def _apply(pred: Tensor, kernel: Callable[[Any, Any], float]) -> Tensor:
    # torch does not type what apply returns.
    return cast(Tensor, _KernelLoss.apply(pred, kernel))  # type: ignore[no-untyped-call]
