"""What an estimator that takes data frames as they are has in common with others."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from censquant._frames import is_frame
from censquant._rows._encoding._encoder import FrameEncoder
from censquant._rows._encoding._files import encoder_part, restored_encoder
from censquant._rows._encoding._rules import Rule
from censquant._rows._encoding._selection import FROM_DTYPE
from censquant._rows._encoding._table import as_array
from censquant._rows._features import columns_of_fit, feature_names
from censquant._storage._parts import Part
from censquant._typing import Floats
from censquant.survival import read_target

_PART = "encoder"


class EncodesFrames:
    """A part of an estimator that learns from encoded columns.

    ``fit`` calls ``_fit_encoder``, predictions call ``_encode``; both return finite numbers. The
    estimator has a parameter ``categorical_features``, and gets ``n_features_in_`` and, from a
    frame, ``feature_names_in_``. It comes before the estimator's other base classes.
    """

    categorical_features: Any = FROM_DTYPE
    _encoder: FrameEncoder | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        # Not ``string``: scikit-learn's checks then demand that nested objects are accepted.
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _fit_encoder(self, X: Any, weight: Floats | None = None, y: Any = None) -> Floats:
        """Fit the encoder and return the encoded rows; ``weight`` is one finite number per row.

        Columns that give the times and events ``y`` away are named in a warning.
        """
        table = checked_table(self, X, reset=True)
        target = None if y is None else read_target(y, n_samples=table.shape[0])
        self._encoder = FrameEncoder.fit(
            table,
            feature_names(self),
            categorical_features=self.categorical_features,
            weight=weight,
            target=target,
        )
        # Only rows of weight 0 can have values that the fit did not have.
        return self._encoder.transform(table, warn=False)

    def _encode(self, X: Any) -> Floats:
        """Return rows encoded as in the fit."""
        assert self._encoder is not None
        return self._encoder.transform(checked_table(self, X, reset=False))

    @property
    def feature_kinds_(self) -> NDArray[Any]:
        """What each column of the fit is: "number", "category" or "left out"."""
        if getattr(self, "_encoder", None) is None:
            raise AttributeError("feature_kinds_ is known of tables that were fitted alone.")
        assert self._encoder is not None
        return np.array([_kind_of(rule) for rule in self._encoder.rules], dtype=object)

    def _with_encoder(self, part: Part) -> Part:
        """Return the part of the estimator with that of its encoder inside."""
        assert self._encoder is not None
        return replace(part, parts={**part.parts, _PART: encoder_part(self._encoder)})

    def _restore_encoder(self, part: Part) -> None:
        """Take the encoder from the part of an estimator whose features are known already."""
        self._encoder = restored_encoder(part.parts[_PART], feature_names(self))


def _kind_of(rule: Rule | None) -> str:
    if rule is None:
        return "left out"
    return "category" if rule.as_category else "number"


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as a frame, array or sparse matrix with the columns of the fit.

    Shapes and names are checked, values are not; the columns of a frame are found by name.
    """
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise TypeError(
            f"X must be a table in memory, got a {type(X).__name__}: call its collect() first."
        )
    fewest = 2 if reset else 1
    if not is_frame(X):
        return validate_data(
            estimator,
            as_array(X),
            reset=reset,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite=False,
            ensure_min_samples=fewest,
        )
    if not reset:
        X = columns_of_fit(estimator, X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    # Only the shape is looked at: the frame itself would become an array of objects.
    check_array(np.broadcast_to(0.0, X.shape), ensure_min_samples=fewest, estimator=estimator)
    return X
