# mypy: disable-error-code="import-untyped,import-not-found"
"""The networks of pycox: DeepSurv, DeepHit and Cox-Time."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.adapters._predictions import survival_curves_of
from censquant.survival import Target
from censquant_bench.peers._base import CurvePeer, Standardizer, event_grid, held_out, rounded_up

# The settings of the library's own notebooks.
_NODES = [32, 32]
_DROPOUT = 0.1
_LEARNING_RATE = 0.01
_BATCH_SIZE = 256
_MAX_EPOCHS = 512
_PATIENCE = 10


class DeepSurv(CurvePeer):
    """DeepSurv, a Cox model whose relative risk is a network: ``CoxPH`` with its defaults.

    Network and training as in `DeepHit`; the baseline is Breslow's of the rows trained on. The
    partial likelihood is that of each batch, as the library has it.
    """

    package: ClassVar[str] = "pycox"
    module: ClassVar[str] = "pycox.models"

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        import torchtuples as tt
        from pycox.models import CoxPH

        self._features = Standardizer.fit(X)
        labels = target.time.astype(np.float32), target.event.astype(np.float32)
        rows = self._features(X).astype(np.float32)
        net = tt.practical.MLPVanilla(
            rows.shape[1], _NODES, 1, batch_norm=True, dropout=_DROPOUT, output_bias=False
        )
        self._model = CoxPH(net, tt.optim.Adam(_LEARNING_RATE), device="cpu")
        train, validation = held_out(target.event, seed)
        _train(self._model, rows, labels, train, validation, n_cases=train.size)
        self._model.compute_baseline_hazards()

    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        return survival_curves_of(self._model, self._features(X))


class DeepHit(CurvePeer):
    """DeepHit for one kind of event: ``DeepHitSingle(alpha=0.2, sigma=0.1)``, the defaults.

    A probability for each cell of a grid of 50 quantiles of the event times; events move to the
    right end of their cell and censorings to the left, as the library does it. The loss is mostly
    one of ranking, so that good order and poor calibration are to be expected. The network is that
    of the library's notebooks: two layers of 32 with batch normalisation and dropout 0.1, Adam at
    0.01, early stopping with a patience of 10 on a fifth of the rows.
    """

    package: ClassVar[str] = "pycox"
    module: ClassVar[str] = "pycox.models"

    _GRID_SIZE = 50

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        import torchtuples as tt
        from pycox.models import DeepHitSingle

        self._features = Standardizer.fit(X)
        grid = event_grid(target.time, target.event, self._GRID_SIZE)
        # Censorings move to the left: they need a time of the grid before the first event.
        times = np.unique(np.append(grid, target.time.min()))
        labels = DeepHitSingle.label_transform(times).transform(target.time, target.event)
        rows = self._features(X).astype(np.float32)
        net = tt.practical.MLPVanilla(
            rows.shape[1], _NODES, times.size, batch_norm=True, dropout=_DROPOUT
        )
        self._model = DeepHitSingle(
            net, tt.optim.Adam(_LEARNING_RATE), device="cpu", duration_index=times
        )
        train, validation = held_out(target.event, seed)
        _train(self._model, rows, labels, train, validation, n_cases=train.size)

    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        return survival_curves_of(self._model, self._features(X))


class CoxTime(CurvePeer):
    """Cox-Time, a relative risk that may change with time: ``CoxTime`` with its defaults.

    Network and training as in `DeepHit`; the baseline is that of the rows trained on. It needs the
    network at every distinct time for every row at risk, minutes for thousands of rows; so times
    are rounded up to 200 quantiles of the event times, and the curve is linear between them.
    """

    package: ClassVar[str] = "pycox"
    module: ClassVar[str] = "pycox.models"

    _GRID_SIZE = 200

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        import torchtuples as tt
        from pycox.models import CoxTime as CoxTimeModel
        from pycox.models.cox_time import MLPVanillaCoxTime

        self._features = Standardizer.fit(X)
        time = rounded_up(target.time, event_grid(target.time, target.event, self._GRID_SIZE))
        # The network takes the time as one more feature.
        self._clock = Standardizer.fit(time[:, None])
        ticks = self._clock(time[:, None])[:, 0].astype(np.float32)
        labels = ticks, target.event.astype(np.float32)
        rows = self._features(X).astype(np.float32)
        net = MLPVanillaCoxTime(rows.shape[1], _NODES, batch_norm=True, dropout=_DROPOUT)
        self._model = CoxTimeModel(net, tt.optim.Adam(_LEARNING_RATE), device="cpu")
        train, validation = held_out(target.event, seed)
        n_cases = target.take(train).n_events
        _train(self._model, rows, labels, train, validation, n_cases=n_cases)
        self._model.compute_baseline_hazards()

    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        ticks, survival = survival_curves_of(self._model, self._features(X))
        return ticks * self._clock.scale[0] + self._clock.mean[0], survival


def _train(
    model: Any,
    rows: NDArray[np.float32],
    labels: tuple[NDArray[Any], NDArray[np.float32]],
    train: NDArray[np.intp],
    validation: NDArray[np.intp],
    *,
    n_cases: int,
) -> None:
    """Train until the validation loss no longer improves, and restore the best weights."""
    import torchtuples as tt

    trained, judged = (
        (rows[part], tuple(label[part] for label in labels)) for part in (train, validation)
    )
    # Batch normalisation cannot do with a last batch of one case.
    batch_size = _BATCH_SIZE - 1 if n_cases % _BATCH_SIZE == 1 else _BATCH_SIZE
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # Cox-Time takes its validation rows as x[[slice]], which torch still reads as x[slice].
        warnings.filterwarnings("ignore", message="Using a non-tuple sequence")
        # The library keeps its best weights in the working directory by default.
        stopping = tt.callbacks.EarlyStopping(
            patience=_PATIENCE, file_path=str(Path(folder) / "weights.pt")
        )
        model.fit(
            *trained,
            batch_size=batch_size,
            epochs=_MAX_EPOCHS,
            callbacks=[stopping],
            verbose=False,
            val_data=judged,
        )
