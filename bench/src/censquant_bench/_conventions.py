"""What an experiment does around its fits."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant_bench._datasets import TrainTestData

if TYPE_CHECKING:
    from censquant_bench._cells import BenchmarkCell


class RunConventions:
    """What an experiment does around each of its fits: by default, nothing.

    A suite with habits of its own brings a subclass. Workers in other processes get it pickled.

    Examples
    --------
    >>> from censquant_bench import RunConventions, get_dataset
    >>> data = get_dataset("norm_linear").train_test(seed=111)
    >>> RunConventions().plain_step_seconds(None, data)
    nan
    """

    usual_scores: bool = True
    """Whether predicted quantiles are scored as in every suite, or `more_scores` has it all."""

    warm_up: bool = True
    """Whether what is compiled is loaded before fits are timed, by a small fit per task."""

    def prepare(self, model: Any, cell: "BenchmarkCell", y: NDArray[np.void]) -> None:
        """Change an estimator before it is fitted.

        Parameters
        ----------
        model : estimator
            As its method built it.
        cell : BenchmarkCell
            What it belongs to.
        y : structured array of shape (n,)
            Times and events that it will be fitted to.
        """

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return scores of the experiment's own, beside the usual ones.

        Parameters
        ----------
        model : estimator
            Fitted.
        X_test : ndarray or DataFrame of shape (m, n_features)
            Features to score on, in the form that the model was fitted to.
        data : TrainTestData
            What it was fitted to and is scored on.

        Returns
        -------
        scores : dict of str to float
        """
        return {}

    def plain_step_seconds(self, model: Any, data: TrainTestData) -> float:
        """Return the time that one optimiser step takes in the loop of reference.

        Parameters
        ----------
        model : estimator
            Fitted, unless its fit failed.
        data : TrainTestData
            What it was fitted to.

        Returns
        -------
        seconds : float
            Not a number where there is nothing to compare with.
        """
        return math.nan
