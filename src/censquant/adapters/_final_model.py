"""The model inside searches and pipelines, and the side that it takes events to be hidden on."""

from typing import Any


def final_model(model: Any, X: Any) -> tuple[Any, Any]:
    """Model inside scikit-learn's searches and pipelines, with the features that it takes.

    A finished search gives its ``best_estimator_``, a Pipeline its last step with the features
    transformed by the others. Anything else is returned as it is.
    """
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "named_steps"):
            if len(model.steps) > 1 and X is not None:
                X = model[:-1].transform(X)
            model = model[-1]
        else:
            return model, X


def is_left_censored(model: Any) -> bool:
    """Whether a model was fitted to times before which some events lie."""
    return bool(getattr(final_model(model, None)[0], "censoring", "right") == "left")
