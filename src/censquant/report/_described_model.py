"""The model of a report and what it chose by itself, in its own words."""

from dataclasses import dataclass
from typing import Any

from censquant.estimators import CQRNN, ConformalSurvivalRegressor
from censquant.estimators.meta import CandidateRow, CoverageRow
from censquant.report._study import Study


@dataclass(frozen=True)
class DescribedModel:
    """What a model says of itself.

    Parameters
    ----------
    name : str
        Its class, with the one inside if it is around another.
    sentences : tuple of str
        Its summary and its choices.
    candidates : tuple of CandidateRow
        Of a pool; empty for others.
    promises : tuple of CoverageRow
        Coverage on rows held out of the fit, of a calibrated model; empty for others.
    is_calibrated : bool
    n_features : int
    uses_cqrnn : bool
        Whether it is a CQRNN, or a pool with one.
    """

    name: str
    sentences: tuple[str, ...]
    candidates: tuple[CandidateRow, ...]
    promises: tuple[CoverageRow, ...]
    is_calibrated: bool
    n_features: int
    uses_cqrnn: bool


def described_model(study: Study) -> DescribedModel:
    """Return what the model of a study says of itself."""
    model: Any = study.model
    inner = getattr(model, "estimator_", model)
    name = type(model).__name__
    sentences: list[str] = []
    promises: tuple[CoverageRow, ...] = ()
    if isinstance(model, ConformalSurvivalRegressor):
        name += f" around {type(inner).__name__}"
        sentences.append(f"Bounds are calibrated by {model.method_}.")
        promises = tuple(row for row in model.coverage_ if row.estimate == row.estimate)
    candidates: tuple[CandidateRow, ...] = ()
    if hasattr(inner, "candidates_"):
        summary = inner.summary()
        sentences = [*filter(_is_private, summary.sentences), *sentences]
        candidates = tuple(summary.table)
    else:
        changed = ", ".join(f"{key}={value!r}" for key, value in _own_settings(inner).items())
        sentences.insert(0, f"{type(inner).__name__} with {changed or 'its default settings'}.")
    members = [inner, *(one for models in _pooled(inner).values() for one in models)]
    return DescribedModel(
        name,
        tuple(sentences),
        candidates,
        promises,
        study.is_calibrated,
        study.table.n_columns,
        any(isinstance(one, CQRNN) for one in members),
    )


def _is_private(sentence: str) -> bool:
    """Whether a sentence tells of no single row: the first and last times of the fit do."""
    return not sentence.startswith("Times from ")


def _pooled(model: Any) -> dict[str, list[Any]]:
    """Return the fitted candidates of a pool by name; none of any other model."""
    return model.estimators_ if hasattr(model, "candidates_") else {}


def _own_settings(model: Any) -> dict[str, Any]:
    """Return parameters of an estimator that are short and differ from their defaults."""
    try:
        defaults = type(model)().get_params(deep=False)
    except TypeError:  # a pipeline, or a model of another library
        return {}
    given = model.get_params(deep=False)
    plain = (str, int, float, bool, tuple)
    return {
        key: value
        for key, value in given.items()
        if isinstance(value, plain) and value != defaults[key]
    }
