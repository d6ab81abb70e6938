"""Uncertainty of any metric, and of the difference between two models, by resampling rows."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer, check_n_jobs, check_number, seed_sequence
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.exceptions import TruncationWarning
from censquant.metrics._counts import counting
from censquant.metrics._reading import read_groups, read_rows
from censquant.survival import read_target
from censquant.survival._kinds_of_rows import OF_ONE_KIND


@dataclass(frozen=True, eq=False)
class BootstrapInterval:
    """A score with its bootstrap interval, or the difference of two scores with its p-value.

    Made by `bootstrap_interval`.

    Parameters
    ----------
    value : float
        The score on the rows as they are; for two models the first score less the second.
    lower, upper : float
        Ends of the interval.
    standard_error : float
        Standard deviation of the resampled values.
    confidence : float in (0, 1)
        Nominal coverage of the interval.
    n_resamples : int
        Number of resamples that the interval rests on.
    n_undefined : int
        Number of further resamples that had to be dropped, since the metric had no value there.
    scores : tuple of float
        The scores of the models on the rows as they are.
    p_value : float in (0, 1], or None
        Two-sided, for the hypothesis that both models score the same; None for one model.
    distribution : ndarray of shape (n_resamples,)
        The resampled values.

    Examples
    --------
    >>> from censquant.metrics import bootstrap_interval, concordance_index
    >>> interval = bootstrap_interval(
    ...     concordance_index, [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], random_state=0
    ... )
    >>> interval.lower <= interval.value <= interval.upper
    True
    """

    value: float
    lower: float
    upper: float
    standard_error: float
    confidence: float
    n_resamples: int
    n_undefined: int
    scores: tuple[float, ...]
    p_value: float | None = None
    distribution: Floats = field(repr=False, default_factory=lambda: np.empty(0))

    def __str__(self) -> str:
        text = (
            f"{self.value:.4g} ({100 * self.confidence:g} % interval "
            f"{self.lower:.4g} to {self.upper:.4g})"
        )
        return text if self.p_value is None else f"{text}, p = {self.p_value:.3g}"


def bootstrap_interval(
    metric: Callable[..., Any],
    y: Any,
    predicted: Any,
    *args: Any,
    other: Any = None,
    X: Any = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **kwargs: Any,
) -> BootstrapInterval:
    """Interval of a metric, or of the difference between two models, by resampling rows.

    A score of 300 rows is itself a random number; this says how much it would move on other rows
    of the same kind. Rows are drawn with replacement, together with their predictions, and the
    ends are percentiles of the resampled values. With ``other`` both models are scored on the
    same draws, so what is common to them cancels: the paired difference is far more telling than
    a comparison of two separate intervals.

    The model is taken as it is: the interval leaves out what another training set would change.
    Rows must be independent. Where several belong to one individual or one hospital, ``groups``
    must say so, or the interval is too narrow: whole groups are then drawn. It is too narrow as
    well for a few dozen rows or groups, and for metrics that square what they average over bins,
    which resampling inflates.

    The metrics of the table of `evaluate` and `right_censored_log_likelihood` compute the loss of
    each row once and then weight it by how often each draw holds the row, so that 200 draws cost
    about as much as one or two calls. Any other metric is called on each draw.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y, predicted, *args, **kwargs)``; returns one number.
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes. The metric gets
        rows of an array as an array, and of all else as a ``(time, event)`` tuple.
    predicted : array-like of n rows, or fitted model
        Predictions as the metric takes them: times, quantiles or survival probabilities. A model
        for `censquant.adapters.predict_quantiles_of` is asked for them: for quantiles where the
        metric has a parameter ``taus``, for probabilities where it has one called ``survival``,
        otherwise for medians.
    *args : object
        Further arguments of the metric, such as ``taus`` or ``times``, the same for all draws.
    other : array-like of n rows, or fitted model, optional
        A second model, or its predictions; the result is then about the difference, first less
        second.
    X : array-like or DataFrame of shape (n, n_features), optional
        Features of the rows, where ``predicted`` or ``other`` is a model.
    n_resamples : int, at least 2, default=1000
        Number of draws.
    confidence : float in (0, 1), default=0.95
        Nominal coverage of the interval.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, which are drawn together. Twenty groups or more are
        wanted.
    random_state : int, Generator, RandomState or None
        Source of the draws; the same number gives the same interval, whatever ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; one by default.
    verbose : int, default=0
        Whether to show a progress bar.
    **kwargs : object
        Keyword arguments of the metric. ``sample_weight`` is drawn along with its rows; the
        others, such as ``y_train``, are the same for all draws.

    Returns
    -------
    interval : BootstrapInterval
        Draws on which the metric has no value, say for want of an event, are dropped and counted.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import bootstrap_interval, concordance_index
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> time, event = np.exp(x + rng.normal(size=200)), rng.random(200) < 0.7
    >>> print(bootstrap_interval(concordance_index, (time, event), x, random_state=0))
    0.75... (95 % interval 0.7... to 0.7...)
    >>> better = bootstrap_interval(
    ...     concordance_index, (time, event), x, other=rng.normal(size=200), random_state=0
    ... )
    >>> better.lower > 0, better.p_value < 0.01
    (True, True)
    """
    if not callable(metric):
        raise TypeError(f"metric must be callable, got {metric!r}.")
    # A metric that counts draws reads rows of any kind itself, and refuses what it cannot score.
    n_rows = len(read_target(y, accepts=OF_ONE_KIND if counting(metric) else ("right",)))
    models = [
        read_rows(name, _predictions_for(metric, name, given, X, args, kwargs), n_rows)
        for name, given in (("predicted", predicted), ("other", other))
        if given is not None
    ]
    count = check_integer("n_resamples", n_resamples, minimum=2)
    share = check_number("confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True)
    check_n_jobs(n_jobs)
    group = read_groups(groups, n_rows)
    weight = kwargs.pop("sample_weight", None)
    if weight is not None:
        weight = read_rows("sample_weight", weight, n_rows)

    metrics = [scored(metric, y, model, args, kwargs, weight) for model in models]
    own = tuple(one.value for one in metrics)
    if np.isnan(_difference(own)):
        raise ValueError("metric must have a value on the rows as they are, got nan.")
    with Bar("bootstrap", count, unit="draws") if verbose else nullcontext() as bar:
        values = resampled(metrics, n_rows, count, random_state, bar, group=group, n_jobs=n_jobs)
    return interval_of(own, values, share)


Rows = NDArray[np.intp]

# Numbers of a table of draws that is held at once, and the most draws in it.
_BLOCK_ENTRIES, _BLOCK_DRAWS = 1 << 18, 256
# Fewer draws than this are not worth a pass over the rows.
_FEWEST_DRAWS = 8


class Draws:
    """Rows drawn with replacement, alone or with their group, as places of each draw or counts."""

    def __init__(
        self, n_rows: int, seeds: Sequence[np.random.SeedSequence], group: Rows | None = None
    ) -> None:
        generators = [np.random.default_rng(seed) for seed in seeds]
        self._n_rows, self._group = n_rows, group
        # As many groups are drawn as there are, and rows otherwise.
        n_units = n_rows if group is None else int(group.max()) + 1
        self._units: list[Rows] = [one.integers(n_units, size=n_units) for one in generators]

    @cached_property
    def rows(self) -> list[Rows]:
        """Places of the rows of each draw."""
        if self._group is None:
            return self._units
        order = np.argsort(self._group, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(self._group))[:-1])
        return [np.concatenate([members[unit] for unit in units]) for units in self._units]

    @cached_property
    def counts(self) -> Floats:
        """How often each row was drawn, shape ``(n_rows, n_draws)``."""
        counts = np.empty((self._n_rows, len(self._units)))
        for draw, units in enumerate(self._units):
            count = np.bincount(units, minlength=len(units))
            counts[:, draw] = count if self._group is None else count[self._group]
        return counts


class Scored(NamedTuple):
    """A metric with its arguments: its score of all rows, and what scores draws of them."""

    value: float
    of_draws: Callable[[Draws], Floats]
    counts: bool  # whether many draws at once cost less than one after the other


def scored(
    metric: Callable[..., Any],
    y: Any,
    predicted: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    weight: NDArray[Any] | None = None,
) -> Scored:
    """Score all rows, and return what scores draws: by their counts where the metric knows them."""
    own = kwargs if weight is None else {**kwargs, "sample_weight": weight}
    read = counting(metric)
    if read is not None:
        counted = read(y, predicted, *args, **own)
        return Scored(counted.score(), lambda draws: counted.scores(draws.counts), True)
    target = read_target(y)

    def score(rows: Rows | slice) -> float:
        drawn = kwargs if weight is None else {**kwargs, "sample_weight": weight[rows]}
        part = y[rows] if isinstance(y, np.ndarray) else (target.time[rows], target.event[rows])
        return _number(metric(part, predicted[rows], *args, **drawn))

    def resampled_score(rows: Rows) -> float:
        try:
            return score(rows)
        except (ValueError, ZeroDivisionError):
            # The metric took all rows, so what is wrong can only be this draw.
            return np.nan

    def scores(draws: Draws) -> Floats:
        return np.array([resampled_score(rows) for rows in draws.rows])

    return Scored(score(slice(None)), scores, False)


def resampled(
    metrics: Sequence[Scored],
    n_rows: int,
    n_resamples: int,
    random_state: Any,
    bar: Bar | None = None,
    *,
    group: Rows | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return scores ``(n_draws, n_metrics)`` of the same draws, NaN where there is none.

    Rows are drawn with all others of their group. Truncation was already reported for all rows.
    """
    from joblib import Parallel, delayed

    lock = Lock()

    def score(seeds: Sequence[np.random.SeedSequence]) -> Floats:
        draws = Draws(n_rows, seeds, group)
        found = np.stack([metric.of_draws(draws) for metric in metrics], axis=1)
        if bar is not None:
            with lock:
                bar.advance(len(seeds))
        return found

    size = 1
    if any(metric.counts for metric in metrics):
        size = max(_FEWEST_DRAWS, min(_BLOCK_DRAWS, _BLOCK_ENTRIES // n_rows))
    seeds = seed_sequence(random_state).spawn(n_resamples)
    blocks = [seeds[start : start + size] for start in range(0, n_resamples, size)]
    # The filters belong to the process: set once around all threads, not inside each of them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        run = Parallel(n_jobs=n_jobs, require="sharedmem")
        return np.concatenate(run(delayed(score)(block) for block in blocks))


def interval_of(own: tuple[float, ...], values: Floats, confidence: float) -> BootstrapInterval:
    """Return the interval of one score, or of the first of two less the second.

    ``values`` of shape ``(n_draws, n_scores)`` are the scores of the draws.
    """
    differences = _difference(tuple(values.T))
    defined = differences[~np.isnan(differences)]
    if defined.size < max(2, len(values) // 2):
        raise ValueError(
            "metric must have a value on most resamples, got none on "
            f"{len(values) - defined.size} of {len(values)}: y holds too few rows or events."
        )
    lower, upper = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return BootstrapInterval(
        value=_difference(own),
        lower=float(lower),
        upper=float(upper),
        standard_error=float(defined.std(ddof=1)),
        confidence=confidence,
        n_resamples=defined.size,
        n_undefined=len(values) - defined.size,
        scores=own,
        p_value=None if len(own) == 1 else _p_value(defined),
        distribution=defined,
    )


def _difference(scores: tuple[Any, ...]) -> Any:
    """Return the score of one model, or the first of two less the second."""
    return scores[0] if len(scores) == 1 else scores[0] - scores[1]


def _p_value(differences: Floats) -> float:
    """Twice the share of differences on the rarer side of zero, never quite zero itself."""
    rarer = min((differences <= 0).sum(), (differences >= 0).sum())
    return float(min(1.0, 2 * (rarer + 1) / (differences.size + 1)))


def _number(score: Any) -> float:
    """Return the score as a float, or raise if it is none."""
    if isinstance(score, Real) or (isinstance(score, np.ndarray) and score.ndim == 0):
        return float(score)
    kind = f"shape {score.shape}" if isinstance(score, np.ndarray) else type(score).__name__
    raise TypeError(
        f"metric must return one number, got {kind}: wrap it in a function that picks one."
    )


def _predictions_for(
    metric: Callable[..., Any],
    name: str,
    given: Any,
    X: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return predictions as they are, or predict what the metric takes from a model."""
    if not (is_supported(given) or callable(getattr(given, "predict", None))):
        return given
    if X is None:
        raise ValueError(f"X must be given where {name} is a fitted model, got None.")
    if is_left_censored(given):
        raise ValueError(
            f"{name} must be fitted with censoring='right', since metrics take a censored event "
            "to come after its time, got censoring='left': use evaluate, which mirrors the times."
        )
    signature = inspect.signature(metric)
    bound = signature.bind_partial(None, None, *args, **kwargs).arguments
    for argument, needed, predict in (
        ("survival", "times", survival_of),
        ("taus", "taus", predict_quantiles_of),
    ):
        if argument in signature.parameters:
            if needed not in bound:
                raise ValueError(
                    f"{needed} must be given where {name} is a fitted model, got none."
                )
            return predict(given, X, bound[needed])
    return predict_quantiles_of(given, X, 0.5)[:, 0]
