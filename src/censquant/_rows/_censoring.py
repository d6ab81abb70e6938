"""Whether censoring depends on the features of a table, as calibration and scores both ask."""

from typing import Any

from sklearn.utils import _safe_indexing

from censquant._calibration._dependence import censoring_dependence, rows_to_look_at
from censquant._rows._encoder import known_numbers
from censquant._rows._fit_data import indexable
from censquant._typing import Floats
from censquant.survival import Target


def censoring_p_value(X: Any, target: Target, weight: Floats | None = None) -> float | None:
    """Return the p-value of the test that censoring does not depend on the features.

    None where nothing is tested: the features are no table, or too few rows are censored.
    """
    some = rows_to_look_at(target, weight)
    table = indexable(X)
    if not len(some) or len(table.shape) != 2:
        return None
    columns = known_numbers(_safe_indexing(table, some))
    return censoring_dependence(
        target.take(some), columns, None if weight is None else weight[some]
    )
