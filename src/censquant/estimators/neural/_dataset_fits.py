"""Fitting networks to data that do not fit into memory."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from censquant._engine.training import (
    Callback,
    Checkpoint,
    Scaling,
    ShardFolder,
    StreamSummary,
    write_shards,
)
from censquant._rows._features import feature_names, warn_of_constant_features
from censquant.estimators.neural._convergence import SHOWN_ROWS
from censquant.estimators.neural._facts import DataFacts
from censquant.estimators.neural._preparation import FeatureScale
from censquant.estimators.neural._trains_on_rows import TrainsOnRows
from censquant.quantiles._grid import check_quantiles

if TYPE_CHECKING:
    from censquant.io import SurvivalBlocks, TextOptions


class FitsDatasets(TrainsOnRows):
    """The half of :class:`NeuralRegressor` that fits to files."""

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
        summary, left = stored.summary, self.censoring == "left"
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._input_shape = (len(names),)
        ends = np.stack((summary.moments.low, summary.moments.high))
        warn_of_constant_features(ends, feature_names(self), stacklevel=3)
        target, weight = summary.target()
        transform = self._fit_transform(target, weight, mirror=left)
        scale = FeatureScale()
        if stored.center is not None and stored.scale is not None:
            scale = FeatureScale(stored.center, stored.scale)
        taus = check_quantiles(self.quantiles)
        rows = stored.rows(transform)
        return self._fit_rows(
            rows,
            scale.undo(next(rows.blocks(SHOWN_ROWS)).x),
            DataFacts.of(target, weight, transform, scale, ends, left=left),
            self._make_objective(tuple(transform.levels(taus).tolist()), target, transform),
            taus,
            self._training_config(),
            callbacks,
            checkpoint,
        )


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
