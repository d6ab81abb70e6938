"""Networks that predict the parameters of a distribution, by censored likelihood or CRPS."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from censquant._engine.networks._network import Network
from censquant._engine.objectives._likelihoods import (
    AsymmetricLaplaceCRPS,
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    LogNormalCRPS,
    NormalLikelihood,
    WeibullCRPS,
)
from censquant._engine.training._loop import Objective, TrainingConfig
from censquant._engine.training._rows import RowSource
from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._trained_model import FitPlan
from censquant.survival import Target
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform

Likelihood = TypeVar("Likelihood", NormalLikelihood, GumbelLikelihood, AsymmetricLaplaceLikelihood)

_LOSSES = ("likelihood", "crps")


@dataclass(kw_only=True, repr=False, eq=False)
class ParametricRegressor(NeuralRegressor):
    """A network that predicts the parameters of a distribution, regularised by default.

    A family is a subclass whose ``_make_objective`` returns a likelihood. Given a
    ``time_transform``, :meth:`_bounded` keeps its parameters near the times of the fit.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    hidden_layer_sizes, activation, dropout, head, network, standardize, time_transform, \
learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`; ``head`` must be ``"free"``.
    loss : {"likelihood", "crps"}, default "likelihood"
        What is minimised, if the family has both: minus the censored log-likelihood, or the
        survival CRPS, in which a row that the model takes for impossible counts by its distance
        only.
    calibration_penalty : float, default 0.0
        Strength of a penalty on batches whose levels are not uniform (X-CAL).

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant.datasets import make_norm_linear
    >>> from censquant.estimators import ParametricRegressor
    >>> from censquant._engine.objectives._likelihoods import NormalLikelihood
    >>> class NormalNN(ParametricRegressor):
    ...     def _make_objective(self, taus, target, transform):
    ...         return self._bounded(NormalLikelihood(), target, transform)
    >>> data = make_norm_linear(100, random_state=0)
    >>> model = NormalNN(max_epochs=2, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:3], [0.001, 0.5], beyond="extrapolate").shape
    (3, 2)
    """

    activation: str = "gelu"
    dropout: float = 0.5
    weight_decay: float = 6e-3
    max_epochs: int = 50
    loss: str = "likelihood"
    calibration_penalty: float = 0.0

    _of_log_time = False  # whether the distribution is one of the logarithm of time

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._of_log_time
        return tags

    def _training_config(self) -> TrainingConfig:
        check_choice("loss", self.loss, _LOSSES)
        check_number("calibration_penalty", self.calibration_penalty, minimum=0.0)
        return super()._training_config()

    def _fit_transform(self, target: Target, weight: Floats, *, mirror: bool) -> TimeTransform:
        if not self._of_log_time:
            return super()._fit_transform(target, weight, mirror=mirror)
        check_choice("time_transform", self.time_transform, ("standardize", None))
        smallest = float(target.time.min())
        if smallest <= 0:
            raise ValueError(
                f"time must be positive for {type(self).__name__}, got a minimum of {smallest:g}: "
                "use CQRNN or shift the times."
            )
        transform = TimeTransform.fit(
            target.time, target.event, "log", mirror=mirror, sample_weight=weight
        )
        return transform if self.time_transform else replace(transform, center=0.0, scale=1.0)

    def _plan(self, target: Target, *others: Any) -> FitPlan:
        if isinstance(target, GeneralTarget):
            wrong = [
                f"{name} must be {needed!r} where rows have intervals or entries, got {given!r}: "
                "these rows have a likelihood only."
                for name, needed, given in (
                    ("loss", "likelihood", self.loss),
                    ("calibration_penalty", 0.0, float(self.calibration_penalty)),
                )
                if given != needed
            ]
            if wrong:
                raise ValueError(wrong[0])
        return super()._plan(target, *others)

    def _bounded(
        self, likelihood: Likelihood, target: Target | None, transform: TimeTransform
    ) -> Likelihood:
        """Return the likelihood with penalty and with parameters near the times of the fit."""
        likelihood = replace(likelihood, calibration=float(self.calibration_penalty))
        if self.time_transform is None:
            return likelihood
        if target is None:  # a model that was read from a file
            return likelihood.within(*self.follow_up_, transform)
        return likelihood.within(float(target.time.min()), float(target.time.max()), transform)

    def _make_network(
        self, rows: RowSource, objective: Objective, rng: np.random.Generator
    ) -> Network:
        if self.head != "free":
            raise ValueError(
                f"head must be 'free' for {type(self).__name__}, whose outputs are parameters of a "
                f"distribution, got {self.head!r}."
            )
        return super()._make_network(rows, objective, rng)


class LogNormalNN(ParametricRegressor):
    """Log-normal times: the network predicts location and scale (the paper's "LogNorm MLE").

    Fitted by the censored likelihood, with the survival function computed on the log scale, so that
    rows far out in the tail pull as they should. Quantiles at any level are exact. Where times are
    not log-normal, upper quantiles can be wrong by orders of magnitude: the tail follows the
    family, not the data.

    Events may lie between two times, and rows may have a delayed entry (see :class:`Surv`): the
    likelihood is then that of the interval, given no event until the entry.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    hidden_layer_sizes, activation, dropout, head, network, standardize
        As in :class:`CQRNN`; ``head`` must be ``"free"``.
    time_transform : {"standardize", None}, default "standardize"
        Whether the logarithm of time is centred and scaled inside ``fit``.
    learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.
    loss : {"likelihood", "crps"}, default "likelihood"
        Whether minus the censored log-likelihood is minimised, or the survival CRPS in the unit of
        time, in which a row that the model takes for impossible counts by its distance only.
    calibration_penalty : float, default 0.0
        Strength of a penalty on batches whose levels are not uniform (X-CAL).

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant import LogNormalNN
    >>> from censquant.datasets import make_lognorm
    >>> data = make_lognorm(200, random_state=0)
    >>> model = LogNormalNN(max_epochs=5, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:1], [0.001, 0.999], beyond="extrapolate").shape
    (1, 2)
    """

    _of_log_time = True
    _accepts = ("right", "interval", "delayed_entry")

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> NormalLikelihood:
        if self.loss == "crps":
            score = LogNormalCRPS(unit=transform.scale, mirrored=transform.mirror)
            return self._bounded(score, target, transform)
        return self._bounded(NormalLikelihood(), target, transform)


class WeibullNN(ParametricRegressor):
    """Weibull times: the network predicts location and scale of the logarithm of time.

    Fitted by the censored likelihood; quantiles at any level are exact. Scale and shape both depend
    on the features, so hazards need not be proportional.

    Events may lie between two times, and rows may have a delayed entry (see :class:`Surv`): the
    likelihood is then that of the interval, given no event until the entry.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    hidden_layer_sizes, activation, dropout, head, network, standardize
        As in :class:`CQRNN`; ``head`` must be ``"free"``.
    time_transform : {"standardize", None}, default "standardize"
        Whether the logarithm of time is centred and scaled inside ``fit``.
    learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.
    loss : {"likelihood", "crps"}, default "likelihood"
        Whether minus the censored log-likelihood is minimised, or the survival CRPS in the unit of
        time, in which a row that the model takes for impossible counts by its distance only.
    calibration_penalty : float, default 0.0
        Strength of a penalty on batches whose levels are not uniform (X-CAL).

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant import WeibullNN
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> model = WeibullNN(max_epochs=5, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:1], [0.001, 0.999], beyond="extrapolate").shape
    (1, 2)
    """

    _of_log_time = True
    _accepts = ("right", "interval", "delayed_entry")

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> GumbelLikelihood:
        if self.loss == "crps":
            score = WeibullCRPS(unit=transform.scale, mirrored=transform.mirror)
            return self._bounded(score, target, transform)
        return self._bounded(GumbelLikelihood(mirrored=transform.mirror), target, transform)


class AsymmetricLaplaceNN(ParametricRegressor):
    """Asymmetric Laplace times: the network predicts location, scale and asymmetry.

    Fitted by the censored likelihood; quantiles at any level are exact. The distribution has a peak
    and two exponential tails, so it is robust to outliers. Its lower tail reaches below zero: where
    no time of the fit was negative, what lies there becomes a point mass at 0, P(T <= 0) = F(0),
    and all quantiles at levels up to F(0) are 0.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    hidden_layer_sizes, activation, dropout, head, network, standardize, time_transform, \
learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`; ``head`` must be ``"free"``.
    loss : {"likelihood", "crps"}, default "likelihood"
        Whether minus the censored log-likelihood is minimised, or the survival CRPS.
    calibration_penalty : float, default 0.0
        Strength of a penalty on batches whose levels are not uniform (X-CAL).

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    References
    ----------
    .. [1] D. Sheng, R. Henao (2025), Learning survival distributions with the asymmetric Laplace
       distribution, ICML.

    Examples
    --------
    >>> from censquant import AsymmetricLaplaceNN
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> model = AsymmetricLaplaceNN(max_epochs=5, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:1], [0.001, 0.999], beyond="extrapolate").shape
    (1, 2)
    """

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> AsymmetricLaplaceLikelihood:
        family = AsymmetricLaplaceCRPS if self.loss == "crps" else AsymmetricLaplaceLikelihood
        return self._bounded(family(), target, transform)
