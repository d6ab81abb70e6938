"""Quantile regression that ignores censoring: the baseline that shows what it costs."""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from censquant._validation import check_choice
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.objectives import ObservedPinball, Pinball
from censquant.survival import Target, TimeTransform


class UncensoredOnlyNN(NeuralRegressor):
    """Quantile regression network on the rows whose event was seen, the paper's "Excl. censor".

    Late events are censored more often than early ones, so leaving censored rows out predicts
    times that are **too early**, the more so the higher the quantile; taking them as observed does
    the same. Both are here to be compared with, not to be used.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
    censored_rows : {"drop", "as_observed"}, default "drop"
        Whether censored rows are left out or taken as if the event had come when they ended.
    hidden_layer_sizes, activation, dropout, head, network, standardize, time_transform, \
learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.

    Attributes
    ----------
    quantiles_, history_, follow_up_, time_transform_, unique_times_, n_features_in_, \
feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant import UncensoredOnlyNN
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> model = UncensoredOnlyNN(max_epochs=5, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:1], [0.5], beyond="extrapolate").shape
    (1, 1)
    """

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        censored_rows: str = "drop",
        hidden_layer_sizes: Sequence[int] = (100, 100),
        activation: str = "relu",
        dropout: float = 0.0,
        head: str = "free",
        network: Callable[..., Any] | None = None,
        standardize: bool = True,
        time_transform: str | None = "standardize",
        learning_rate: float = 0.01,
        weight_decay: float = 1e-4,
        batch_size: int = 128,
        max_epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_members: int = 1,
        n_jobs: int | None = None,
        censoring: str = "right",
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            quantiles,
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            dropout=dropout,
            head=head,
            network=network,
            standardize=standardize,
            time_transform=time_transform,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            batch_size=batch_size,
            max_epochs=max_epochs,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            n_members=n_members,
            n_jobs=n_jobs,
            censoring=censoring,
            random_state=random_state,
            device=device,
            verbose=verbose,
        )
        self.censored_rows = censored_rows

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Pinball:
        check_choice("censored_rows", self.censored_rows, ("drop", "as_observed"))
        return ObservedPinball(taus) if self.censored_rows == "drop" else Pinball(taus)
