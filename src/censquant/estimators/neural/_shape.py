"""ShapeNN: a family of distributions that a network moves, stretches and, where data ask, bends."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine._families import FAMILIES, STANDARD
from censquant._engine.networks._combined import (
    SMALLEST_GAP,
    HeadedNetwork,
    LinearSkip,
    ShapeHead,
)
from censquant._engine.networks._dense import (
    ACTIVATIONS,
    PREDICTION_ROWS,
    DenseNetwork,
    small_product,
)
from censquant._engine.networks._kernels import shape_networks
from censquant._engine.objectives._likelihoods import ShapeLikelihood, shape_knots
from censquant._engine.training._loop import Objective, TrainingConfig, WarmupCosine
from censquant._engine.training._rows import RowSource
from censquant._rows._features import dense
from censquant._storage._codec import Entry, Fields, Reader, Writer
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_sizes,
)
from censquant.estimators._reading import Answers, MeanReader
from censquant.estimators.neural._cqrnn import far_times
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._trained_model import (
    FitPlan,
    TrainedModel,
    ensemble_distribution,
)
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target, read_target
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import LARGEST_LOG, TimeTransform

_TAILS = ("family", "bounded")
_N_KNOTS = 19
# Quantiles further beyond the last time, in standard deviations, are moved back to there.
_FARTHEST = 3.0
_FAR_TIME = "1.2max"
# Only in files of models that were fitted to rows with intervals or entries.
_OF_GENERAL_ROWS: Fields = {
    "above_origin": Entry(check_flag, "_above_origin", optional=True, is_new=True)
}
_FIRST_OUTPUTS = 0.3  # on the usual initial weights: training starts near the family


@dataclass(kw_only=True, repr=False, eq=False)
class ShapeNN(NeuralRegressor):
    """Quantiles of a family, moved, stretched and bent by a network.

    The network predicts the middle of 19 quantiles and the gaps between them, relative to those of
    a normal distribution or of a Weibull distribution's logarithm. It is trained by the censored
    likelihood plus a share of CQRNN's loss. Penalties that fade as rows become many keep the shape
    near the family's: few rows are fitted like a parametric model, many as flexibly as by CQRNN.
    Quantiles cannot cross, and any level is answered by a formula. Censoring is assumed independent
    of the event time given the features.

    Events may lie between two times, and rows may have a delayed entry (see :class:`Surv`): the
    likelihood is then that of the interval, given no event until the entry. Of such rows the
    distribution is one given a positive time, whatever the family.

    Beyond the follow-up the family decides, or with ``tail="bounded"`` nothing: quantiles that no
    data hold then gather at 1.2 times the longest time.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    hidden_layer_sizes : sequence of int, default (64, 64)
    activation : {"relu", "gelu", "silu", "tanh"}, default "gelu"
    dropout : float in [0, 1), default 0.0
    standardize : bool, default True
        Whether features are centred and scaled inside ``fit``.
    learning_rate : float, default 0.02
        Adam's, after a rise over twenty steps; it falls to 0 along a cosine.
    weight_decay : float, default 6e-3
        L2 decay inside Adam; a linear trend of the location and the shape common to all rows are
        not decayed.
    batch_size : int, default 128
    n_members : int, default 1
        Networks trained side by side; their quantile functions are averaged.
    n_jobs : int, optional
        Threads over members; None is one, -1 is one per core. The result does not depend on it.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time.
    random_state : int, RandomState, Generator or None
        The same integer gives the same bits.
    verbose : int, default 0
        1 shows a progress bar.
    family : {"normal", "log-normal", "weibull"}, default "normal"
        What is bent. The latter two need events at positive times.
    tail : {"family", "bounded"}, default "family"
        What holds quantiles beyond the last time: the family's formula, or the pseudo-time 1.2
        times the longest that ``CQRNN`` uses.
    max_steps : int, default 400
        Training steps of one batch each, whatever the number of rows.
    likelihood_weight, pinball_weight : float, default 1.0 and 0.3
        Weights of the two losses, not both 0. Large data that no family fits are better fitted with
        the check loss in front, 0.3 and 1.

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant import ShapeNN
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> model = ShapeNN(family="log-normal", max_steps=100, random_state=0).fit(X, y)
    >>> model.predict_quantiles(X[:2], quantiles=[0.1, 0.5], beyond="extrapolate").shape
    (2, 2)
    >>> model.score(X, y) > 0.65
    True
    """

    hidden_layer_sizes: Sequence[int] = (64, 64)
    activation: str = "gelu"
    learning_rate: float = 0.02
    weight_decay: float = 6e-3
    family: str = "normal"
    tail: str = "family"
    max_steps: int = 400
    likelihood_weight: float = 1.0
    pinball_weight: float = 0.3
    # Not parameters here: the shape has a head, a transform and a schedule of its own.
    head: str = field(default="free", init=False)
    network: None = field(default=None, init=False)
    time_transform: str | None = field(default="standardize", init=False)
    max_epochs: int = field(default=100, init=False)
    early_stopping: bool = field(default=False, init=False)
    validation_fraction: float = field(default=0.1, init=False)
    n_iter_no_change: int = field(default=10, init=False)
    device: None = field(default=None, init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = FAMILIES.get(self.family)
        tags.target_tags.positive_only = family is None or family.of_logarithms
        return tags

    def _training_config(self) -> TrainingConfig:
        check_choice("family", self.family, FAMILIES)
        check_choice("tail", self.tail, _TAILS)
        weights = (
            check_number("likelihood_weight", self.likelihood_weight, minimum=0.0),
            check_number("pinball_weight", self.pinball_weight, minimum=0.0),
        )
        if not any(weights):
            raise ValueError(
                "likelihood_weight and pinball_weight must not both be 0, got 0 and 0."
            )
        steps = check_integer("max_steps", self.max_steps, minimum=1)
        # An epoch has at least one step.
        return replace(
            super()._training_config(), max_epochs=steps, max_steps=steps, schedule=WarmupCosine()
        )

    @property
    def _base(self) -> str:
        """Name of the distribution that is bent; left-censored times are mirrored."""
        family = FAMILIES[self.family]
        return family.mirrored if self._left_censored else family.base

    _accepts = ("right", "interval", "delayed_entry")
    _above_origin = False  # whether predictions are those given a positive time

    def _plan(self, target: Target, *others: Any) -> FitPlan:
        self._above_origin = isinstance(target, GeneralTarget)
        return super()._plan(target, *others)

    def _fit_transform(
        self, target: Target, weight: NDArray[np.float64], *, mirror: bool
    ) -> TimeTransform:
        kind = "tobit"
        if FAMILIES[self.family].of_logarithms:
            kind = "log-tobit"
            smallest = float(target.time[target.event].min())
            if smallest <= 0:
                raise ValueError(
                    f"time must be positive where event is True for family={self.family!r}, got a "
                    f"minimum of {smallest:g}: use family='normal' or shift the times."
                )
        return TimeTransform.fit(
            target.time, target.event, kind, mirror=mirror, sample_weight=weight
        )

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> ShapeLikelihood:
        ends = self.follow_up_ if target is None else (target.time.min(), target.time.max())
        last = float(transform.forward(ends).max())
        likelihood = ShapeLikelihood(
            self._base,
            _N_KNOTS,
            likelihood_weight=self.likelihood_weight,
            pinball_weight=self.pinball_weight,
            limit=last,
            cap=last + _FARTHEST,
        )
        if self.tail == "bounded" and target is not None:
            _, limit = far_times(_FAR_TIME, target, transform)
            likelihood = replace(likelihood, limit=limit, bounded=True)
        if self._above_origin and not transform.log:
            likelihood = replace(likelihood, floor=float(transform.forward(0.0)))
        return likelihood

    def _make_network(
        self, rows: RowSource, objective: Objective, rng: np.random.Generator
    ) -> HeadedNetwork:
        (n_inputs,) = rows.shape
        head = ShapeHead(tuple(shape_knots(self._base, _N_KNOTS).tolist()), n_rows=len(rows))
        network = DenseNetwork(
            [n_inputs, *check_sizes("hidden_layer_sizes", self.hidden_layer_sizes), head.n_raw],
            activation=self.activation,
            dropout=self.dropout,
            rng=rng,
        )
        network.shrink_last_layer(_FIRST_OUTPUTS)
        return HeadedNetwork(LinearSkip(network, n_inputs), head)

    def _curve_levels(self) -> NDArray[np.float64]:
        return np.union1d(self.quantiles_, CURVE_QUANTILES)

    @classmethod
    def _mean_reader(cls, models: Sequence[Any], levels: Floats) -> MeanReader:
        members = [member for model in models for member in model.models_]
        conditioned = any(model._above_origin for model in models)
        if conditioned or len({str(_likeness(member)) for member in members}) > 1:
            return super()._mean_reader(models, levels)
        return ShapeReader.of(members, len(models), levels)

    def log_likelihood(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return each row's log-likelihood: log-density of an event, log-survival if censored.

        Densities are per unit of time, so those of models in different families can be compared:
        on rows that were not fitted, the higher sum is the better family. The density is smoothed
        as in training, where that of piecewise curves would jump. With a family of positive times,
        times below half the earliest event of the fit count as that.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            With ``censoring="left"`` a censored row has the logarithm of the probability of an
            event before its time.
        """
        features = dense(self._read_features(X))
        target = read_target(y, n_samples=len(features), accepts=self._accepts)
        transform, known = self.time_transform_, target.event
        rows = target.mapped(transform.forward)
        law = ensemble_distribution(self.models_, features)
        if isinstance(rows, GeneralTarget) or self._above_origin:
            rows = GeneralTarget.of(rows)
            known = rows.exact
            values = law.rows_log_likelihood(rows.time, rows.event, rows.lower, rows.entry)
        else:
            values = law.log_likelihood(rows.time, rows.event)
        return np.asarray(values + np.where(known, transform.log_slope(target.time), 0.0))

    def _store(self, writer: Writer) -> None:
        super()._store(writer)
        if self._above_origin:
            writer.add(_OF_GENERAL_ROWS, self)

    def _restore(self, reader: Reader) -> None:
        reader.fill(self, _OF_GENERAL_ROWS)
        super()._restore(reader)


def _likeness(member: TrainedModel) -> tuple[Any, ...]:
    """Return what networks that are read side by side have in common."""
    objective, transform = member.objective, member.time_transform
    assert isinstance(objective, ShapeLikelihood)
    return member.network.describe(), objective.base, transform.log, transform.mirror, member.lower


@dataclass(frozen=True, eq=False)
class ShapeReader:
    """Mean quantiles of fitted estimators at known levels, whose networks have one architecture.

    A quantile is linear in the outputs of a network, so one matrix leads from those to any levels.
    Arrays without a shape of their own have a row per network.
    """

    n_models: int  # estimators; each averages its own networks first, in model units
    center: Floats
    scale: Floats
    parameters: Floats
    skips: Floats
    shapes: Floats
    knots: Floats  # quantiles of the standard distribution
    sizes: NDArray[np.int64]
    activation: str
    readout: Floats  # shape (n_knots, n_levels)
    # Largest value, and what leads to times and their logarithms: shape (n_models, 1, 1).
    caps: Floats
    factors: Floats
    offsets: Floats
    transform: TimeTransform
    lower: float

    @classmethod
    def of(cls, members: Sequence[TrainedModel], n_models: int, levels: Floats) -> "ShapeReader":
        """Return the reader of several estimators' networks, one estimator after the other."""
        networks: list[Any] = [member.network for member in members]
        dense: list[DenseNetwork] = [network.network.network for network in networks]
        first, each = members[0], members[:: len(members) // n_models]
        transforms = [member.time_transform for member in each]
        objectives: list[Any] = [member.objective for member in each]
        zeros, mirror = np.zeros(dense[0].sizes[0]), first.time_transform.mirror
        standard = STANDARD[objectives[0].base]
        places = standard.inverse_survival(1.0 - levels) if mirror else standard.quantile(levels)
        scales, knots = [member.feature_scale for member in members], networks[0].head.knots

        def column(numbers: Sequence[float]) -> Floats:
            return np.array(numbers)[:, None, None]

        return cls(
            n_models,
            np.stack([zeros if one.center is None else one.center for one in scales]),
            np.stack([zeros + one.scale for one in scales]),
            np.stack([network.parameters for network in dense]).astype(np.float64),
            np.stack([network.network.parameters for network in networks]).astype(np.float64),
            np.stack([network.parameters for network in networks]).astype(np.float64),
            np.array(knots),
            np.array(dense[0].sizes, dtype=np.int64),
            dense[0].activation,
            _readout(shape_knots(objectives[0].base, len(knots)), places),
            column([one.cap for one in objectives]),
            column([-one.scale if mirror else one.scale for one in transforms]),
            column([one.center for one in transforms]),
            first.time_transform,
            first.lower,
        )

    def __call__(self, x: NDArray[Any]) -> Answers:
        """Return the mean quantiles of rows, of right-censored times."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        out = np.empty((len(self.parameters), len(x), len(self.readout)))
        shape_networks(
            x,
            self.center,
            self.scale,
            self.parameters,
            self.skips,
            self.shapes,
            self.sizes,
            ACTIVATIONS[self.activation],
            np.diff(self.knots),
            float(self.knots[len(self.knots) // 2]),
            SMALLEST_GAP,
            PREDICTION_ROWS,
            small_product(),
            out,
        )
        if len(out) > self.n_models:
            out = out.reshape(self.n_models, -1, *out.shape[1:]).mean(axis=1)
        times = (out.reshape(-1, len(self.readout)) @ self.readout).reshape(
            self.n_models, len(x), -1
        )
        np.minimum(times, self.caps, out=times)
        times *= self.factors
        times += self.offsets
        if self.transform.log:
            np.minimum(times, LARGEST_LOG, out=times)
            np.exp(times, out=times)
        if self.lower > -np.inf:
            np.maximum(times, self.lower, out=times)
        mean = times[0] if self.n_models == 1 else times.sum(axis=0) / self.n_models
        return -mean if self.transform.mirror else mean, None

    @property
    def layers(self) -> tuple[Any, ...]:
        """What readers have in common whose networks an exported model computes side by side."""
        return *self.sizes.tolist(), self.activation, *self.readout.shape


def _readout(knots: Floats, places: Floats) -> Floats:
    """Return the matrix that leads from values at knots to those on the lines through them."""
    segment = np.clip(np.searchsorted(knots, places, side="right") - 1, 0, len(knots) - 2)
    share = (places - knots[segment]) / np.diff(knots)[segment]
    matrix, column = np.zeros((len(knots), len(places))), np.arange(len(places))
    matrix[segment, column] = 1.0 - share
    matrix[segment + 1, column] = share
    return matrix
