"""CQRNN: one network for all quantiles, trained on censored rows; the pseudo-time y* they need."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from censquant._engine.losses._grid import LEVEL_RULES
from censquant._engine.networks._network import Network
from censquant._engine.objectives._grid import FrozenLevels, Portnoy, Powell, TobitLaplace
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import Callback, Objective, TrainingConfig
from censquant._engine.training._rows import RowSource
from censquant._typing import Floats
from censquant._validation import check_choice, check_integer, check_number
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._training import History
from censquant.survival import Target
from censquant.survival._transform import TimeTransform

_KNOWN_CENSORING: dict[str, Callable[[tuple[float, ...]], Objective]] = {
    "powell": Powell,
    "tobit": TobitLaplace,
}

_FACTOR = re.compile(r"\s*(\d+(?:\.\d+)?)\s*max\s*")
_CAP_SHARE = 0.2  # of the range of times: how far beyond it predictions may be pushed without y*


@dataclass(kw_only=True, repr=False, eq=False)
class CQRNN(NeuralRegressor):
    """Censored quantile regression neural network: Algorithm 2 of Pearce et al. (2022).

    One network predicts a grid of quantiles of the time to the event. A censored row is split
    between its censoring time and a far time ``y_star``, in shares that the network's own
    predictions give while it learns. No distribution is assumed; censoring is assumed independent
    of the event time given the features.

    The defaults are the paper's, and with few rows they overfit: a concordance on the training rows
    far above that on others, and intervals that are much too narrow, show it. To begin with, use
    :class:`CensoredQuantileRegressor`. The paper's rule for the level of a censoring time,
    ``"nearest"``, never gives a level below the first of the grid, so under heavy early censoring
    all quantiles come out too high; ``level_rule="interpolate"`` fixes that and costs nothing.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        The grid that is fitted; any level can be asked for afterwards.
    hidden_layer_sizes : sequence of int, default (100, 100)
    activation : {"relu", "gelu", "silu", "tanh"}, default "relu"
    dropout : float in [0, 1), default 0.0
    head : {"free", "increasing"}, default "free"
        Whether quantiles are free outputs, sorted at prediction, or cannot cross by construction.
    network : callable, optional
        ``(input_shape, n_outputs) -> torch.nn.Module`` in place of the dense network; needs
        ``censquant[torch]``. The four parameters above except ``head`` are then not used.
    standardize : bool, default True
        Whether features are centred and scaled inside ``fit``.
    time_transform : {"standardize", "log", "tobit", "log-tobit", None}, default "standardize"
        The scale on which times are fitted;
        predictions are in the user's unit always.
    learning_rate : float, default 0.01
        Adam's; a tenth of it after 70 % of the epochs and a hundredth after 90 %.
    weight_decay : float, default 1e-4
        L2 decay inside Adam.
    batch_size : int, default 128
    max_epochs : int, default 100
    early_stopping : bool, default False
        Whether to hold out rows, stop when their loss no longer falls, and keep the best weights.
    validation_fraction : float in (0, 1), default 0.1
    n_iter_no_change : int, default 10
        Epochs without improvement before stopping early.
    n_members : int, default 1
        Networks trained side by side; their quantile functions are averaged.
    n_jobs : int, optional
        Threads over members; None means 1, -1 uses all cores. The result does not depend on it.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time.
    random_state : int, RandomState, Generator or None
        The same integer gives the same bits.
    device : str, optional
        Where a torch ``network`` runs.
    verbose : int, default 0
        1 shows a progress bar.
    level_rule : {"nearest", "lower", "interpolate"}, default "nearest"
        How F(c given x), the level of a censoring time, is read off the predictions.
    y_star : str, float or None, default "1.2max"
        Pseudo-time that receives the probability mass beyond a censoring time: a multiple of the
        largest time, a time in the user's unit, or None for infinity with a one-sided cap.
    crossing_penalty : float, default 0.0
        Strength of a penalty on neighbouring quantiles that are nearer than ``crossing_margin``.
    crossing_margin : float, default 0.0
        In model units; standard deviations of time by default.
    em_epochs : int, optional
        Epochs for which the levels of censoring times are kept fixed; None renews them at every
        step, which the paper finds to converge faster.
    known_censoring_loss : {"powell", "tobit"}, default "powell"
        What is minimised if ``fit`` is given censoring times: Powell's loss, or the censored
        likelihood of asymmetric Laplace distributions around the quantiles (Hüttel et al. 2022).

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_levels,)
        Fitted levels.
    models_ : list of TrainedModel
        One per member: everything that leads from features to times.
    history_ : list of dict
        One record per epoch: ``epoch``, ``loss``, ``learning_rate``, with early stopping
        ``validation_loss``, with several members ``member``.
    follow_up_ : tuple of float
        Smallest and largest time seen.
    horizon_ : float
        Default horizon of restricted means: the last time at which one in twenty of the training
        rows is still at risk.
    time_transform_ : TimeTransform
    unique_times_ : ndarray
        Default times of survival functions: distinct event times, at most a thousand.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] T. Pearce, J.-H. Jeong, Y. Jia, J. Zhu (2022), Censored quantile regression neural
       networks for distribution-free survival analysis, NeurIPS.

    Examples
    --------
    >>> from censquant import CQRNN
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> model = CQRNN(max_epochs=20, dropout=0.3, random_state=0).fit(X, y)
    >>> model.predict_quantiles(X[:2], quantiles=[0.1, 0.5], beyond="extrapolate").shape
    (2, 2)
    >>> model.score(X, y) > 0.6
    True
    """

    level_rule: str = "nearest"
    y_star: str | float | None = "1.2max"
    crossing_penalty: float = 0.0
    crossing_margin: float = 0.0
    em_epochs: int | None = None
    known_censoring_loss: str = "powell"

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        censoring_time: ArrayLike | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit to features and possibly censored times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            With ``network`` of any shape ``(n, ...)``.
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was seen; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its loss.
        censoring_time : array-like of shape (n,), optional
            Where every row's censoring time is known, that of events too (a study that ends on a
            fixed day), ``known_censoring_loss`` is minimised instead: it needs no estimated
            weights.
        callbacks : sequence of Callback
            Called after every epoch; see :class:`censquant.engine.Callback`.
        checkpoint : Checkpoint, optional
            Writes the training to a file and resumes from it after a stop.

        Returns
        -------
        self
        """
        if censoring_time is not None and (self.crossing_penalty or self.em_epochs is not None):
            raise ValueError(
                "crossing_penalty and em_epochs belong to Portnoy's loss and must be left at their "
                "defaults with censoring_time, which takes another."
            )
        check_choice("known_censoring_loss", self.known_censoring_loss, _KNOWN_CENSORING)
        return self._fit(
            X,
            y,
            sample_weight,
            callbacks=callbacks,
            checkpoint=checkpoint,
            censoring_time=censoring_time,
            known_objective=_KNOWN_CENSORING[self.known_censoring_loss],
        )

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Portnoy:
        check_choice("level_rule", self.level_rule, LEVEL_RULES)
        if self.em_epochs is not None:
            check_integer("em_epochs", self.em_epochs, minimum=1)
        if target is None:
            return Portnoy(taus, self.level_rule)
        y_star, cap = far_times(self.y_star, target, transform)
        return Portnoy(
            taus,
            self.level_rule,
            y_star=y_star,
            cap=cap,
            crossing_margin=check_number("crossing_margin", self.crossing_margin, minimum=0.0),
            crossing_strength=check_number("crossing_penalty", self.crossing_penalty, minimum=0.0),
            frozen_epochs=self.em_epochs,
        )

    def _train_member(
        self,
        objective: Objective,
        rows: RowSource,
        config: TrainingConfig,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[Network, History]:
        if isinstance(objective, Portnoy) and objective.frozen_epochs is not None:
            options["callbacks"] = [FrozenLevels(objective), *options["callbacks"]]
        return super()._train_member(objective, rows, config, rng, **options)


def y_star_factor(y_star: str) -> float:
    """Factor of the largest time in a ``y_star`` that is written as one."""
    match = _FACTOR.fullmatch(y_star)
    if match is None or float(match[1]) < 1:
        raise ValueError(
            "y_star must be None, a time, or a factor of at least 1 such as '1.2max', "
            f"got {y_star!r}."
        )
    return float(match[1])


def read_y_star(y_star: Any, time: Floats, *, left: bool) -> float | None:
    """Return y* in the unit of ``time``, or None where a one-sided cap replaces it.

    A factor is written ``"1.2max"``. For times that are not negative it is that multiple of the
    largest one; for others its excess over 1 is applied to the size of the times, so that y* lies
    beyond them all. Left-censored times are mirrored first, so y* lies below them all.
    """
    if y_star is None:
        return None
    if not isinstance(y_star, str):
        return _check_beyond(check_number("y_star", y_star), time, left=left)
    factor = y_star_factor(y_star)
    sign = -1.0 if left else 1.0
    largest = float((sign * time).max())
    size = abs(largest) if not left and time.min() >= 0 else max(abs(largest), float(time.std()))
    return sign * (largest + (factor - 1.0) * size)


def _check_beyond(y_star: float, time: Floats, *, left: bool) -> float:
    end = float(time.min() if left else time.max())
    if (y_star > end) if left else (y_star < end):
        side, which = ("below", "smallest") if left else ("above", "largest")
        raise ValueError(f"y_star must lie {side} the {which} time, {end:g}, got {y_star:g}.")
    return y_star


def push_limit(time: Floats, *, left: bool) -> float:
    """Return the time beyond which predictions are not pushed any further when there is no y*."""
    low, high = float(time.min()), float(time.max())
    margin = _CAP_SHARE * (high - low)
    return low - margin if left else high + margin


def far_times(y_star: Any, target: Target, transform: TimeTransform) -> tuple[float | None, float]:
    """Return y* and the cap on predictions in model units; without y*, the cap replaces it."""
    left = transform.mirror
    value = read_y_star(y_star, target.time, left=left)
    if value is not None:
        inner = float(transform.forward(value))
        return inner, inner
    return None, float(transform.forward(push_limit(target.time, left=left)))
