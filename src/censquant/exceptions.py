"""Errors and warnings that a caller may want to catch by name."""

__all__ = [
    "CalibrationWarning",
    "ConstantFeatureWarning",
    "ExtrapolationWarning",
    "FeatureWarning",
    "FewEventsWarning",
    "IdentifiabilityWarning",
    "LeakageWarning",
    "ModelFileError",
    "NoEventsError",
    "TrainingDivergedError",
    "TruncationWarning",
]


class CalibrationWarning(UserWarning):
    """Rows that were held out of a fit contradict the probabilities that it states.

    Examples
    --------
    >>> from censquant.exceptions import CalibrationWarning
    >>> issubclass(CalibrationWarning, UserWarning)
    True
    """


class FeatureWarning(UserWarning):
    """Columns of a fit that were left out, or that are probably not what they seem.

    Identifiers, columns without a value and copies of other columns are found in most tables; the
    message names each of them.

    Examples
    --------
    >>> from censquant.exceptions import FeatureWarning
    >>> issubclass(FeatureWarning, UserWarning)
    True
    """


class ConstantFeatureWarning(FeatureWarning):
    """Features that are the same in all rows of a fit: nothing can be learned from them.

    Examples
    --------
    >>> from censquant.exceptions import ConstantFeatureWarning, FeatureWarning
    >>> issubclass(ConstantFeatureWarning, FeatureWarning)
    True
    """


class LeakageWarning(FeatureWarning):
    """Features that give the outcome away: they follow from the time or the event.

    A model with such a column scores far too well, and cannot predict anybody whose outcome is not
    known yet. Ignore this category if the column is known beforehand.

    Examples
    --------
    >>> import warnings
    >>> from censquant.exceptions import FeatureWarning, LeakageWarning
    >>> issubclass(LeakageWarning, FeatureWarning)
    True
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", LeakageWarning)
    """


class ExtrapolationWarning(UserWarning):
    """A prediction lies where the training data cannot speak.

    Past the last follow-up every quantile is a guess of the model, not a finding of the data.
    Turn the warning into an error where such a number must never be used.

    Examples
    --------
    >>> import warnings
    >>> from censquant.exceptions import ExtrapolationWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ExtrapolationWarning)
    """


class FewEventsWarning(UserWarning):
    """Events are too few to compare models, so that predictions hardly depend on the features.

    Examples
    --------
    >>> from censquant.exceptions import FewEventsWarning
    >>> issubclass(FewEventsWarning, UserWarning)
    True
    """


class IdentifiabilityWarning(UserWarning):
    """Something that was asked for has no unique answer in the data, and was left out.

    Censoring may hide the upper quantiles altogether, and collinear features cannot each have a
    coefficient of their own.

    Examples
    --------
    >>> from censquant.exceptions import IdentifiabilityWarning
    >>> issubclass(IdentifiabilityWarning, UserWarning)
    True
    """


class ModelFileError(ValueError):
    """A model file cannot be read: it is damaged, foreign, or of an unknown version.

    Examples
    --------
    >>> from censquant.exceptions import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class NoEventsError(ValueError):
    """Every row is censored, so the data hold no time at which an event happened.

    A share of folds or subgroups may be like this in small data; catch the error there and
    leave the fold out.

    Examples
    --------
    >>> from censquant.exceptions import NoEventsError
    >>> from censquant.survival import read_target
    >>> from censquant.survival._target import require_events
    >>> try:
    ...     require_events(read_target(([3.0, 4.0], [False, False])))
    ... except NoEventsError as error:
    ...     str(error)
    'y has no event: 2 of 2 rows are censored, so no quantile can be fitted.'
    """


class TrainingDivergedError(ArithmeticError):
    """The training loss became NaN or infinite, so the network has learned nothing usable.

    A smaller learning rate or standardised features is the usual cure.

    Examples
    --------
    >>> from censquant.exceptions import TrainingDivergedError
    >>> issubclass(TrainingDivergedError, ArithmeticError)
    True
    """


class TruncationWarning(UserWarning):
    """A score leaves out the times at which the training data cannot tell how it should count.

    Metrics that undo the censoring divide by the chance of not being censored yet. Past the
    training follow-up that chance is unknown or zero, so these times are left out of the score
    instead of stopping a cross-validation. Scores are then comparable only where the same times
    were left out. The warning also says so where the chances of a ``censoring_model`` are so small
    that few rows carry most of the weight.

    Examples
    --------
    >>> import warnings
    >>> from censquant.exceptions import TruncationWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", TruncationWarning)
    """
