"""How the study scores a fit, and how methods of any kind answer its questions."""

from typing import Any

from censquant import metrics
from censquant.estimators import adapt
from censquant_bench._conventions import RunConventions
from censquant_bench._train_test import TrainTestData
from censquant_bench.field._isbs import evaluation_times, integrated_survival_brier


class FieldConventions(RunConventions):
    """Scores each fit by the study's two measures as well.

    ``cindex_restricted_mean`` is Harrell's C of the area under each predicted survival curve up to
    the last evaluation time, ``isbs`` the integrated survival Brier score.

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> from censquant_bench import KaplanMeierBaseline
    >>> from censquant_bench.field import FieldConventions
    >>> data = get_dataset("norm_linear").train_test(111)
    >>> model = KaplanMeierBaseline().fit(data.X, data.y)
    >>> FieldConventions().more_scores(model, data.X_test, data)["cindex_restricted_mean"]
    0.5
    """

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the study's measures on the test rows.

        Parameters
        ----------
        model : estimator
            Fitted, with ``predict_curve`` or anything that `censquant.adapt` takes.
        X_test : ndarray or DataFrame of shape (m, n_features)
            Features to score on, in the form that the model was fitted to.
        data : TrainTestData
            What it was fitted to and is scored on.

        Returns
        -------
        scores : dict of str to float
        """
        curves = (model if hasattr(model, "predict_curve") else adapt(model)).predict_curve(X_test)
        times = evaluation_times(data.y_test["time"])
        mean = curves.restricted_mean(times[-1])
        return {
            "cindex_restricted_mean": metrics.concordance_index(data.y_test, mean),
            "isbs": integrated_survival_brier(
                data.y_test, curves.survival(times), times, y_train=data.y
            ),
        }
