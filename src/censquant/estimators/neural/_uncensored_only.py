"""Quantile regression that ignores censoring: the baseline that shows what it costs."""

from censquant._engine.objectives import ObservedPinball
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.survival import Target
from censquant.survival._transform import TimeTransform


class UncensoredOnlyNN(NeuralRegressor):
    """Quantile regression network on observed events alone, the paper's "Excl. censor".

    Late events are censored more often than early ones, so leaving censored individuals out
    predicts times that are **too early**, the more so the higher the quantile. It is here to be
    compared with, not to be used.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
    hidden_layer_sizes, activation, dropout, head, network, standardize, time_transform, \
learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
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

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> ObservedPinball:
        return ObservedPinball(taus)
