"""Calibrated models outside of Python: recalibrated quantiles and bounds."""

import os

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from censquant._validation import check_choice
from censquant.estimators.meta._bounds._calibrates import CalibratesBounds
from censquant.export._graph import Graph, Value
from censquant.export._graphs_bounds import add_bounds, conformal_graph, own_graph
from censquant.export._graphs_curves import GraphCurve
from censquant.export._javascript import PageModel, page_model
from censquant.export._onnx import write_onnx


class ExportsBounds(CalibratesBounds):
    """What a calibrated model can be written as, besides a model file."""

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        quantiles: ArrayLike | None = None,
        *,
        dtype: str = "float32",
        confidence: ArrayLike | None = None,
    ) -> None:
        """Write the fitted estimator as an ONNX file, which runs without this package.

        Its outputs are those of every estimator, with recalibrated quantiles, and with
        ``confidence`` also ``lower_bound`` and ``upper_bound`` of shape (n, n_confidences): those
        of :meth:`predict_lower_bound` and :meth:`predict_upper_bound`; ``lower_bound_limited`` and
        ``upper_bound_limited`` are 1 where follow-up limits them, else 0.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        dtype : {"float32", "float64"}, default "float32"
            Of the features that it takes and of what it returns; it computes in double precision.
        confidence : float or array-like in (0, 1), optional
            Of the bounds. A censoring model that depends on the features becomes part of the file.
        """
        check_choice("dtype", dtype, ("float32", "float64"))
        write_onnx(path, self._graph(quantiles, confidence=confidence), dtype)

    def to_javascript(
        self,
        quantiles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
        confidence: ArrayLike | None = None,
    ) -> PageModel:
        """Return the fitted estimator as JSON that a script evaluates in a web page.

        Its outputs are those of :meth:`to_onnx`, and ``survival`` of shape (n, n_times).

        Parameters
        ----------
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        times : array-like of shape (n_times,), optional
            Times at which the survival function is wanted as well.
        coarse_times : bool, default False
            Whether times of training rows are kept out of the page, as of every estimator.
        confidence : float or array-like in (0, 1), optional
            Of the bounds.

        Returns
        -------
        model : PageModel
        """
        return page_model(self._graph(quantiles, times, confidence, coarse_times=coarse_times))

    def _graph(
        self,
        quantiles: ArrayLike | None,
        times: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
    ) -> Graph:
        check_is_fitted(self)
        graph = Graph(coarse_times=coarse_times)
        own, reach = own_graph(self, *self.estimator_._graph_curve(graph))
        curve, reach = conformal_graph(self, own, reach)
        self._add_outputs(graph, curve, reach, quantiles, times)
        if confidence is not None:
            add_bounds(self, graph, own, curve, confidence)
        graph.hide_unusable()
        graph.drop_unused()
        return graph

    def _graph_curve(self, graph: Graph) -> tuple[GraphCurve, Value]:
        return conformal_graph(self, *own_graph(self, *self.estimator_._graph_curve(graph)))

    def _curve_of_numbers(self, numbers: Value) -> tuple[GraphCurve, Value]:
        return conformal_graph(self, *own_graph(self, *self.estimator_._curve_of_numbers(numbers)))
