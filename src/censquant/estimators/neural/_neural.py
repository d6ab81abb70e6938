"""What every estimator that trains a network shares: from data to trained members and back."""

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._engine.networks._network import Network
from censquant._engine.objectives._grid import Powell
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import Callback, Objective, ProgressBar, TrainingConfig, train
from censquant._engine.training._rows import RowSource
from censquant._engine.training._shard_writer import Scaling, write_shards
from censquant._engine.training._shards import ShardFolder, StreamSummary
from censquant._rows._features import (
    check_features,
    check_is_fitted,
    dense,
    feature_names,
    feature_range,
    refuse_other_shapes,
    warn_of_constant_features,
)
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Reader, Writer
from censquant._trees._follow_up import (
    FollowUp,
    ReachRule,
    begun,
    fit_entries,
    followed,
    restore_features,
    store_features,
)
from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.estimators._base import BaseQuantileRegressor, CurveGraph
from censquant.estimators.neural._network_files import read_networks, store_networks
from censquant.estimators.neural._trained_model import (
    FeatureScale,
    FitPlan,
    TrainedModel,
    ensemble_curve,
    ensemble_raw_quantiles,
    scaled_rows,
    targets_only,
)
from censquant.estimators.neural._training import (
    SHOWN_ROWS,
    History,
    checked_config,
    join_histories,
    new_network,
    train_members,
    warn_of_failed_training,
)
from censquant.export._graphs_networks import ensemble_graph, scaled_graph
from censquant.export._graphs_trees import begun_graph, followed_graph, reach_graph
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target
from censquant.survival._target import GeneralTarget, require_events
from censquant.survival._transform import TimeTransform

if TYPE_CHECKING:
    from censquant.io import SurvivalBlocks, TextOptions

_NEVER = 1e30  # stands for an infinite time in compiled arithmetic


@dataclass(repr=False, eq=False)
class NeuralRegressor(BaseQuantileRegressor):
    """Training, prediction and saving for estimators whose model is a network.

    A method is a subclass with ``_make_objective``; one with parameters of its own declares them as
    fields of a dataclass, as ``CQRNN`` does, or in a constructor that hands the others on.

    Parameters
    ----------
    quantiles, hidden_layer_sizes, activation, dropout, head, network, standardize, \
time_transform, learning_rate, weight_decay, batch_size, max_epochs, early_stopping, \
validation_fraction, n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant.datasets import make_norm_linear
    >>> from censquant.estimators import NeuralRegressor
    >>> from censquant._engine.objectives._grid import Portnoy
    >>> class InterpolatingNN(NeuralRegressor):
    ...     def _make_objective(self, taus, target, transform):
    ...         return Portnoy(taus, "interpolate")
    >>> data = make_norm_linear(100, random_state=0)
    >>> model = InterpolatingNN([0.25, 0.5], max_epochs=2, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:3], beyond="extrapolate").shape
    (3, 2)
    """

    quantiles: ArrayLike | None = None
    _: KW_ONLY
    hidden_layer_sizes: Sequence[int] = (100, 100)
    activation: str = "relu"
    dropout: float = 0.0
    head: str = "free"
    network: Callable[..., Any] | None = None
    standardize: bool = True
    time_transform: str | None = "standardize"
    learning_rate: float = 0.01
    weight_decay: float = 1e-4
    batch_size: int = 128
    max_epochs: int = 100
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    n_members: int = 1
    n_jobs: int | None = None
    censoring: str = "right"
    random_state: Any = None
    device: str | None = None
    verbose: int = 0

    _reads_features = True
    _unstored_parameters = ("network", "random_state")  # by a model file

    # What a method is

    @abstractmethod
    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Objective:
        """Return what the method minimises.

        ``taus`` are levels in model units, to which ``transform`` leads; ``target`` is in
        the user's unit of time. It is None for a model read from a file, which only predicts.
        """

    def _training_config(self) -> TrainingConfig:
        """Check the parameters and return those of the training loop."""
        return checked_config(self)

    def _fit_transform(self, target: Target, weight: Floats, *, mirror: bool) -> TimeTransform:
        """Return the way to model units."""
        return TimeTransform.fit(
            target.time, target.event, self.time_transform, mirror=mirror, sample_weight=weight
        )

    def _fitted_levels(self, taus: Floats, networks: Sequence[Network]) -> Floats:
        """Return the levels that the trained networks predict."""
        return taus

    def _train_member(
        self,
        objective: Objective,
        rows: RowSource,
        config: TrainingConfig,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[Network, History]:
        """Train one network; ``options`` go to :func:`censquant.engine.train`."""
        network = self._make_network(rows, objective, rng)
        return network, train(network, objective, rows, config, rng, **options)

    def _n_runs(self) -> int:
        """Return the number of trainings of a fit."""
        return self.n_members

    def _make_network(
        self, rows: RowSource, objective: Objective, rng: np.random.Generator
    ) -> Network:
        """Return a network for the rows that it will be trained on."""
        return new_network(self, rows.shape, objective.n_outputs, rng)

    def _curve_levels(self) -> Floats:
        """Return the levels that curves list; models of a whole distribution may add some."""
        return self.quantiles_

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
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
        callbacks : sequence of Callback
            Called after every epoch; see :class:`censquant.engine.Callback`.
        checkpoint : Checkpoint, optional
            Writes the training to a file and resumes from it after a stop.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, callbacks=callbacks, checkpoint=checkpoint)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
        censoring_time: ArrayLike | None = None,
        known_objective: Callable[[tuple[float, ...]], Objective] = Powell,
    ) -> Self:
        """Fit; with ``censoring_time`` every row's is known."""
        config = self._training_config()
        data = FitData.read(
            X,
            y,
            sample_weight,
            censoring_time=censoring_time,
            read_features=lambda X: dense(self._check_features(X, reset=True)),
            left=self.censoring == "left",
            accepts=self._accepts,
        )
        if self._stands_alone:
            data.warn_of_leaks(feature_names(self))
        rows, features = data.arranged(features=False), data.x
        del data
        require_events(rows.target)
        order = rows.source
        ends = feature_range(features, order) if features.ndim == 2 else None
        if ends is not None and self._stands_alone:
            warn_of_constant_features(ends, feature_names(self))

        scale = FeatureScale()
        if self.standardize:
            scale = FeatureScale.fit(features, rows.weight, order)
        plan = self._plan(rows.target, rows.weight, scale, ends)
        forward, limit = plan.transform.forward, rows.censoring_time
        if limit is not None:
            plan = replace(plan, objective=known_objective(plan.inner_levels))
            limit = np.clip(forward(limit), -_NEVER, _NEVER)
        some = features[order[:SHOWN_ROWS]]
        targets = targets_only(rows.target.mapped(forward), rows.weight, limit)
        entered = None
        if self._stands_alone and isinstance(rows.target, GeneralTarget):
            entry_rng = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0])
            entered = fit_entries(features[order], rows.target, rows.weight, entry_rng)
        del rows, limit  # a training of many rows needs the memory
        scaled = scaled_rows(features, order, scale, targets)
        del order, targets
        self._fit_rows(scaled, some, plan, config, callbacks, checkpoint)
        self._entered = entered
        return self

    def fit_dataset(
        self,
        source: Any,
        *,
        time: str,
        event: str,
        event_value: str | Sequence[str] = (),
        features: Sequence[str] | None = None,
        weight: str | None = None,
        shards: str | os.PathLike[str] | None = None,
        options: "TextOptions | None" = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit to a data set in files that may be larger than memory.

        The files are read once and written as shuffled, checksummed shards of scaled rows, from
        which the network is trained; memory holds one shard at most, whatever the number of rows.
        The fitted model is like that of :meth:`fit`, and as good. What needs all rows at once comes
        from a uniform sample of 200,000 (all rows where there are no more): units of time, the
        follow-up, the default horizon and times, and the censoring curve of losses that have one.
        Means, standard deviations and ranges of features, and the smallest and largest time, are
        those of all rows. Reading needs ``pyarrow``, which ``censquant[cli]`` brings.

        Parameters
        ----------
        source : str, path, sequence of paths, or pyarrow.dataset.Dataset
            A Parquet, Feather, CSV or TSV file, or a folder of such files. Columns may have another
            order or type in each file.
        time, event : str
            Columns of times, and of whether the event was observed: truth values, or 0 and 1.
        event_value : str or sequence of str, default ()
            Values of ``event`` that mean an observed event, where they are not 1.
        features : sequence of str, optional
            Columns of numbers to learn from; by default all others.
        weight : str, optional
            Column of weights, which scale the loss; rows of weight 0 are left out.
        shards : str or path, optional
            Folder in which the shards are kept: other fits to the same data then start from them,
            and a writing that was killed is resumed. By default they are temporary.
        options : TextOptions, optional
            How the text of CSV files is read, see :class:`censquant.io.TextOptions`.
        callbacks, checkpoint
            As in :meth:`fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from censquant import CQRNN
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=True)
        >>> table = X.assign(days=y["time"], relapse=y["event"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "gbsg2.parquet"
        ...     table.to_parquet(path, index=False)
        ...     model = CQRNN(max_epochs=5, random_state=0)
        ...     model = model.fit_dataset(path, time="days", event="relapse")
        >>> model.predict_quantiles(X[:2], [0.1, 0.5], beyond="extrapolate").shape
        (2, 2)
        """
        from censquant.io import SurvivalBlocks, TargetColumns

        self._training_config()  # refuses parameters before anything is read
        values = (event_value,) if isinstance(event_value, str) else tuple(event_value)
        blocks = SurvivalBlocks(
            source,
            TargetColumns(time=time, event=event, event_value=tuple(map(str, values))),
            features=features,
            weight=weight,
            options=options,
            settings=[bool(self.standardize)],
        )
        with ExitStack() as stack:
            if shards is None:
                temporary = stack.enter_context(TemporaryDirectory(prefix="censquant-"))
                folder = Path(temporary) / "shards"
            else:
                folder = Path(shards)
            stored = write_shards(
                blocks,
                folder,
                lambda summary: _scaling(blocks, summary, standardize=self.standardize),
                resumable=shards is not None,
            )
            return self._fit_stored(stored, blocks.features, callbacks, checkpoint)

    def _fit_stored(
        self,
        stored: ShardFolder,
        names: Sequence[str],
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> Self:
        """Fit to shards."""
        summary = stored.summary
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._input_shape: tuple[int, ...] = (len(names),)
        ends = np.stack((summary.moments.low, summary.moments.high))
        warn_of_constant_features(ends, feature_names(self))
        scale = FeatureScale()
        if stored.center is not None and stored.scale is not None:
            scale = FeatureScale(stored.center, stored.scale)
        plan = self._plan(*summary.target(), scale, ends)
        rows, config = stored.rows(plan.transform), self._training_config()
        some = scale.undo(next(rows.blocks(SHOWN_ROWS)).x)
        return self._fit_rows(rows, some, plan, config, callbacks, checkpoint)

    def _plan(
        self, target: Target, weight: Floats, scale: FeatureScale, feature_range: Floats | None
    ) -> FitPlan:
        """Return what is known before the training, from all rows or some that stand for them."""
        taus, left = check_quantiles(self.quantiles), self.censoring == "left"
        near = target.middle if isinstance(target, GeneralTarget) else target
        transform = self._fit_transform(near, weight, mirror=left).reaching(target)
        objective = self._make_objective(tuple(transform.levels(taus).tolist()), target, transform)
        times = FitData(None, target, weight, np.arange(len(target)), left=left)
        return FitPlan(
            taus,
            transform,
            objective,
            scale,
            feature_range,
            times.follow_up,
            times.horizon,
            times.event_times(stands_alone=self._stands_alone),
        )

    def _fit_rows(
        self,
        rows: RowSource,
        some: NDArray[Any],
        plan: FitPlan,
        config: TrainingConfig,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> Self:
        """Train on rows in model units; ``some`` are features of a few as the user gave them."""
        progress = [ProgressBar(self._n_runs())] if self.verbose else []
        try:
            networks, follow_up, histories = train_members(
                self, rows, plan.objective, config, [*callbacks, *progress], checkpoint
            )
        finally:
            for bar in progress:
                bar.close()

        self._keep(networks, histories, follow_up, plan)
        if self._stands_alone:
            warn_of_failed_training(self, some, rows.sample(), plan.objective, stacklevel=5)
        return self

    def _keep(
        self,
        networks: Sequence[Network],
        histories: Sequence[History],
        follow_up: FollowUp | None,
        plan: FitPlan,
    ) -> None:
        """Set everything that predictions and files need."""
        self.quantiles_ = self._fitted_levels(plan.taus, networks)
        self.time_transform_ = plan.transform
        self.follow_up_ = plan.follow_up
        self.horizon_ = plan.horizon
        self.unique_times_ = plan.unique_times
        self.history_ = join_histories(histories)
        self.models_ = [
            TrainedModel(
                plan.scale,
                network,
                plan.objective,
                plan.transform,
                self.quantiles_,
                self._lowest_time(),
            )
            for network in networks
        ]
        self._fit_parameters = self.get_params(deep=False)
        self._feature_range = plan.feature_range
        self._follow_up, self._entered = follow_up, None

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as a finite array of numbers; its shape must be that of the fit."""
        features = check_features(
            self,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            allow_nd=self.network is not None,
        )
        if reset:
            self._input_shape = features.shape[1:]
        else:
            refuse_other_shapes(features, self._input_shape)
        return features

    # Predicting

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "quantiles_")
        return self._check_features(X, reset=False)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        curve = ensemble_curve(self.models_, features, self._curve_levels())
        rule, mirror = ReachRule(self, features), self.time_transform_.mirror
        curve = self._limited(curve).with_reach(rule, lowest=mirror)
        return begun(self._entered, curve, features, empirical=False)

    def raw_quantiles(self, X: Any) -> Floats:
        """Return the quantiles as the networks give them, which may cross.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        times : ndarray of shape (n, n_levels)
            At the fitted levels, averaged over the members, in the user's unit.
        """
        return ensemble_raw_quantiles(self.models_, dense(self._read_features(X)))

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return how long individuals were followed, and the level reached by then."""
        scaled = self.models_[0].feature_scale.apply
        return followed(self._follow_up, features, self.time_transform_, self.follow_up_, scaled)

    def _curve_of_graph(self, x: Any) -> CurveGraph:
        models, transform = self.models_, self.time_transform_
        curve = self._limited(ensemble_graph(models, x, self._curve_levels()))
        scaled = scaled_graph(models[0], x)
        followed = followed_graph(self._follow_up, scaled, transform, self.follow_up_)
        reach = reach_graph(curve, followed, lowest=transform.mirror)
        return curve, begun_graph(self._entered, x, curve, reach, empirical=False)

    # Saving

    def _store(self, writer: Writer) -> None:
        store_networks(self, writer)
        store_features(self, writer)

    def _restore(self, reader: Reader) -> None:
        build_networks = read_networks(self, reader)
        restore_features(self, reader)
        reader.finish()
        build_networks()


def _scaling(blocks: "SurvivalBlocks", summary: StreamSummary, *, standardize: bool) -> Scaling:
    """Return how features are scaled; data that nothing can be learned from are refused."""
    if summary.n_rows < 2:
        words = "no rows" if summary.n_rows == 0 else "one row only"
        raise ValueError(f"{blocks.shown} has {words} of positive weight to learn from.")
    if not summary.n_events:
        raise blocks.no_events()
    if not standardize:
        return None, None, FeatureScale().apply
    scale = FeatureScale.of_moments(summary.moments.mean, summary.moments.variance)
    return scale.center, np.asarray(scale.scale), scale.apply
