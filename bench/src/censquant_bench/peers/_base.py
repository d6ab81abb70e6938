"""What all peers share: the interface, and the precautions around calls of other libraries."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from censquant._seeds import seed_sequence
from censquant._typing import Floats
from censquant.adapters import quantiles_from_survival
from censquant.quantiles._grid import check_quantiles
from censquant.quantiles._interpolation import sorted_rows
from censquant.survival import Target, read_target
from censquant.survival._target import require_events
from censquant_bench.peers._isolation import own_generators
from censquant_bench.peers._times import positive_shift

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
