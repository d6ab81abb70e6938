"""Networks with other answers to censoring: weights of events, or none at all."""

from censquant._engine.objectives._grid import ObservedPinball, WeightedPinball
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.survival import Target
from censquant.survival._transform import TimeTransform


class DeepQuantReg(NeuralRegressor):
    """Quantile regression network with inverse-censoring weights (Jia and Jeong, 2022).

    Each event counts one over its chance of not being censored before, by the Kaplan-Meier curve of
    the censoring time; censored rows count through that curve alone. This is right if censoring
    does not depend on the features and follow-up is long enough for every event to be seen by
    somebody. Where not, upper quantiles come out too low. ``time_transform="log"`` is the loss on
    log times of the publication.

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

    References
    ----------
    .. [1] Y. Jia, J.-H. Jeong (2022), Deep learning for quantile regression under right censoring:
       DeepQuantreg, Computational Statistics and Data Analysis 165.

    Examples
    --------
    >>> from censquant import DeepQuantReg
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> model = DeepQuantReg(max_epochs=5, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:1], [0.5], beyond="extrapolate").shape
    (1, 1)
    """

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> WeightedPinball:
        return WeightedPinball(taus)


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
