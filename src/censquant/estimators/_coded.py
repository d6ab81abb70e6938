"""Columns of text in the features of estimators whose coefficients are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._rows._columns import checked_table
from censquant._rows._encoder import (
    FrameEncoder,
    encoder_part,
    reference_encoder,
    restored_encoder,
)
from censquant._rows._features import check_features, check_is_fitted, dense, feature_names
from censquant._storage._codec import Reader, Writer
from censquant.estimators._base import BaseQuantileRegressor
from censquant.export._graph import Graph, Value
from censquant.export._graphs_curves import GraphCurve
from censquant.export._graphs_features import encoder_graph, numbers_graph

_ENCODER = "encoder"  # name of its part in a model file


class CodedFeatures(BaseQuantileRegressor):
    """An estimator that compares the levels of columns of text with the first one.

    Tables of numbers are read as they are, in the same way as everywhere.
    """

    _encoder: FrameEncoder | None = None  # None for tables of numbers

    def _fit_features(self, X: Any) -> NDArray[Any]:
        """Return the features of a fit as finite numbers."""
        self._encoder = None
        encoder = reference_encoder(X)
        if encoder is None:
            return dense(check_features(self, X, reset=True))
        table = checked_table(self, X, reset=True)
        self._encoder = encoder
        return encoder.transform(table, refuse=True)

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "quantiles_")
        if self._encoder is None:
            return check_features(self, X, reset=False)
        return self._encoder.transform(checked_table(self, X, reset=False), refuse=True)

    def _column_names(self) -> list[str]:
        if self._encoder is None:
            return super()._column_names()
        return self._encoder.feature_names_out

    def _term_columns(self) -> list[str]:
        """Return the column of X that each feature comes from."""
        names = feature_names(self)
        if self._encoder is None:
            return names
        return [names[place] for place in self._encoder.origins]

    # Export and files

    def _graph_curve(self, graph: Graph) -> tuple[GraphCurve, Value]:
        if self._encoder is None:
            return super()._graph_curve(graph)
        x = encoder_graph(self._encoder, graph, named=True)
        graph.require_finite(x)
        return self._curve_of_graph(x)

    def _numbers_graph(self, numbers: Value) -> Value:
        return numbers if self._encoder is None else numbers_graph(self._encoder, numbers)

    def _store_encoder(self, writer: Writer) -> None:
        if self._encoder is not None:
            writer.parts[_ENCODER] = encoder_part(self._encoder)

    def _restore_encoder(self, reader: Reader) -> None:
        part = reader.part.parts.get(_ENCODER)
        self._encoder = None
        # Of tables of numbers not the length of a list of names, which a forged number would fill.
        reader.sizes["features"] = self.n_features_in_
        if part is not None:
            self._encoder = restored_encoder(part, feature_names(self))
            reader.sizes["features"] = len(self._column_names())


def places_of(columns: list[str]) -> dict[str, list[int]]:
    """Return the places of the features of each column, in the order of the columns."""
    names = np.array(columns, dtype=object)
    return {name: np.flatnonzero(names == name).tolist() for name in dict.fromkeys(columns)}
