"""What all peers share: the interface, and the precautions around calls of other libraries."""

import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.adapters import quantiles_from_survival
from censquant.quantiles._grid import check_quantiles, sorted_rows
from censquant.survival import Target, read_target
from censquant.survival._target import require_events

_SHARE = 5


def held_out(event: NDArray[np.bool_], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the rows to train on, and of the fifth held out: a fifth of the events too."""
    order = np.random.default_rng(seed).permutation(event.size)
    order = order[np.argsort(event[order], kind="stable")]
    # Counted from the middle of a five, so that the last, an event, stays with the training rows.
    out = np.arange(event.size) % _SHARE == _SHARE // 2
    return order[~out], order[out]


# Far enough from 0 that the logarithm of the smallest time is no outlier.
_MARGIN = 0.01


def positive_shift(time: Floats) -> float:
    """Return what to add to the times so that the smallest is positive: 0 if it is.

    Otherwise the smallest becomes a hundredth of the range, so that its logarithm is no outlier.
    """
    lowest, spread = float(time.min()), float(np.ptp(time))
    if lowest > 0:
        return 0.0
    return (_MARGIN * spread if spread > 0 else 1.0) - lowest


def event_grid(time: Floats, event: NDArray[np.bool_], size: int) -> Floats:
    """At most `size` increasing times: evenly spaced quantiles of the events, and the last time.

    Equal shares of the events fall between neighbours, so that the grid is fine where the curve
    falls.
    """
    levels = np.linspace(0.0, 1.0, size - 1)
    quantiles = np.quantile(time[event], levels, method="higher")
    return np.unique(np.append(quantiles, time.max()))


def rounded_up(time: Floats, grid: Floats) -> Floats:
    """Each time moved to the next one of the grid, whose last is at or after all of them."""
    return grid[np.searchsorted(grid, time)]


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Columns that vary among the training rows, with their mean and spread taken off.

    A column that is constant in a fold stops the Newton steps of a Cox model, and one ridge
    penalty fits all columns only where they have one scale.
    """

    kept: NDArray[np.bool_]
    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Floats) -> "Standardizer":
        """Standardizer of the training rows."""
        kept = np.ptp(X, axis=0) > 0
        if not kept.any():
            raise ValueError(
                f"X must have a column that varies, got {X.shape[1]} constant ones: "
                "add a feature or more rows."
            )
        return cls(kept, X[:, kept].mean(axis=0), X[:, kept].std(axis=0))

    def __call__(self, X: Floats) -> Floats:
        """Rows standardised as the training rows."""
        return np.asarray((X[:, self.kept] - self.mean) / self.scale, dtype=np.float64)


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Seed the global generators inside the block and restore the caller's afterwards.

    Several peers draw from a global generator however they are called: NGBoost's trees, hazardous'
    classifier, every torch network. Torch is included where it is loaded already; nothing here
    loads it. Threads that draw from the same generators meanwhile are not protected.
    """
    torch = sys.modules.get("torch")
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    network = None if torch is None else torch.default_generator.get_state()
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.manual_seed(seed)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.set_state(network)


# Rows whose survival curves are held in memory at a time.
_CHUNK = 1000


class Peer(ABC):
    """A method of another library, fitted and asked for quantiles as all methods of a benchmark.

    An adapter says which settings it uses and why; nothing is tuned. The library behind it is
    imported by `fit` and not before. Features and times are handed over in the form the library
    takes (see each adapter); predictions come back in the user's unit of time. Random numbers
    come from `random_state` alone, and the caller's global generators are left as they were.

    Parameters
    ----------
    random_state : int or None
        Seed; None draws a new one for each fit.

    Examples
    --------
    >>> from censquant_bench.peers import make_peer
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> peer = make_peer("lifelines_weibull", random_state=0).fit(data.X, data.y)
    >>> peer.predict_quantiles(data.X[:3], [0.1, 0.5, 0.9]).shape
    (3, 3)
    """

    package: ClassVar[str]
    """Distribution to install."""

    module: ClassVar[str]
    """What to import of it."""

    needs_positive_times: ClassVar[bool] = False
    """Whether times are moved until the smallest is positive, and predictions moved back."""

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object) -> Self:
        """Fit the method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite features.
        y : structured array of shape (n_samples,)
            Event and time, or any other target that `censquant.survival.read_target` reads.

        Returns
        -------
        self : Peer
        """
        target, features = read_target(y), _read_features(X)
        require_events(target)
        if len(target) != len(features):
            raise ValueError(
                f"X and y must have the same number of rows, got {len(features)} and {len(target)}."
            )
        self._seed = int(seed_sequence(self.random_state).generate_state(1)[0] >> 1)
        # Apart from the fit: what a library draws when it is first imported must not change the
        # numbers of the fit, and torch must be loaded for its generator to be restored.
        with own_generators(self._seed):
            import_module(self.module)
        self._shift = positive_shift(target.time) if self.needs_positive_times else 0.0
        with own_generators(self._seed), _one_thread():
            self._fit(features, Target(target.time + self._shift, target.event), self._seed)
        self._n_features = features.shape[1]
        return self

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike) -> Floats:
        """Quantiles of the event time of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite features.
        quantiles : array-like of shape (k,), strictly increasing inside (0, 1)
            Levels.

        Returns
        -------
        values : ndarray of shape (n_samples, k), float64
            Finite and not decreasing along a row; crossed quantiles are sorted.
        """
        levels, features = check_quantiles(quantiles), _read_features(X)
        if not hasattr(self, "_n_features"):
            raise RuntimeError(f"{type(self).__name__} must be fitted first: call fit(X, y).")
        if features.shape[1] != self._n_features:
            raise ValueError(
                f"X must have the {self._n_features} columns of fit, got {features.shape[1]}."
            )
        with own_generators(self._seed), _one_thread():
            values = np.asarray(self._predict(features, levels), dtype=np.float64)
        unusable = ~np.isfinite(values).all(axis=1)
        if unusable.any():
            raise ArithmeticError(
                f"{self.package} predicted NaN or infinity in {unusable.sum()} of {len(values)} "
                f"rows, first in row {int(np.argmax(unusable))}."
            )
        return sorted_rows(values - self._shift)

    @abstractmethod
    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        """Fit the library's model to checked rows."""

    @abstractmethod
    def _predict(self, X: Floats, levels: Floats) -> Any:
        """Quantiles ``(n, k)`` in the unit of time of `_fit`."""


class CurvePeer(Peer):
    """A peer that predicts survival curves, from which quantiles are read."""

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        chunks = [X[start : start + _CHUNK] for start in range(0, len(X), _CHUNK)]
        return np.concatenate(
            [
                quantiles_from_survival(*self._survival(rows), levels, beyond="last")
                for rows in chunks
            ]
        )

    @abstractmethod
    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        """Increasing times and P(T > t) of each row at them ``(n, n_times)``."""


def _one_thread() -> Any:
    """Context in which numerical libraries use one thread.

    A benchmark runs its cells side by side: threads that wait for each other's cores took ten
    times longer than one.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _read_features(X: ArrayLike) -> Floats:
    """Finite features as a float matrix, or scikit-learn's sentence on what is wrong."""
    from sklearn.utils import check_array

    return np.asarray(check_array(X, dtype=np.float64, input_name="X"), dtype=np.float64)
