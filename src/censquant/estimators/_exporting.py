"""Fitted models outside of Python: as ONNX files and in web pages."""

import os
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from censquant._rows._features import feature_names
from censquant._validation import check_choice
from censquant.estimators._reading import ReadsCurves
from censquant.export._graph import Graph, Value
from censquant.export._graphs_curves import GraphCurve
from censquant.export._javascript import PageModel, page_model
from censquant.export._onnx import write_onnx
from censquant.survival._columns import read_numbers


class Exports(ReadsCurves):
    """What a fitted model can be written as, besides a model file.

    An estimator implements ``_curve_of_numbers``: its curves and their reach as a graph of array
    operations, from which all forms are made.
    """

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        quantiles: ArrayLike | None = None,
        *,
        dtype: str = "float32",
    ) -> None:
        """Write the fitted estimator as an ONNX file, which runs without this package.

        Its outputs are ``quantiles`` of shape (n, n_levels), those of :meth:`predict_quantiles`
        with ``beyond="extrapolate"``, ``median`` of shape (n,), and ``identified`` of shape (n,),
        the level of :meth:`identified_level` that the quantiles' levels have to be compared with.
        Any number of rows can be asked for. A model of one level other than 0.5 has no ``median``.
        Rows that Python refuses, because of infinity or of a missing number where the model takes
        none, have NaN in all outputs.

        Features are the input ``X``. A :class:`~censquant.CensoredQuantileRegressor` that was
        fitted to categories has a second input of text, ``categories``, with ``""`` for a missing
        one; the file's metadata name the columns of both.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        dtype : {"float32", "float64"}, default "float32"
            Of the features that it takes and of what it returns; it computes in double precision.
            Features whose differences are small beside their values, such as dates in seconds,
            need ``"float64"``.
        """
        check_choice("dtype", dtype, ("float32", "float64"))
        write_onnx(path, self._graph(quantiles), dtype)

    def to_javascript(
        self,
        quantiles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
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
            Whether times of training rows are kept out of the page: a baseline hazard is stored at
            means of five event times, and ends of follow-up are rounded. Predicted times then
            differ from those of Python by a few per cent at most, and less with more rows.

        Returns
        -------
        model : PageModel
            Its ``n_bytes`` say what it adds to a page: forests of many rows are large.
        """
        return page_model(self._graph(quantiles, times, coarse_times=coarse_times))

    def _graph(
        self,
        quantiles: ArrayLike | None,
        times: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
    ) -> Graph:
        """Return the model as a graph from features to quantiles at some levels."""
        check_is_fitted(self)
        graph = Graph(coarse_times=coarse_times)
        self._add_outputs(graph, *self._graph_curve(graph), quantiles, times)
        graph.hide_unusable()
        graph.drop_unused()
        return graph

    def _add_outputs(
        self,
        graph: Graph,
        curve: GraphCurve,
        reach: Value,
        quantiles: ArrayLike | None,
        times: ArrayLike | None,
    ) -> None:
        """Make curves and their reach ``(n, 1)`` the outputs of a graph."""
        levels = self._levels(quantiles)
        graph.outputs["quantiles"] = curve.at(levels)
        if len(curve.taus) > 1 or 0.5 in curve.taus:
            graph.outputs["median"] = curve.at([0.5]).reshape()
        graph.outputs["identified"] = reach.reshape()
        graph.facts = {"quantiles": levels.tolist(), "left_censored": self._left_censored}
        if times is not None:
            at = read_numbers(times, name="times")
            asked = graph.repeated(at, next(iter(graph.inputs.values())))
            graph.outputs["survival"] = 1.0 - curve.levels_of(asked)
            graph.facts["times"] = at.tolist()

    def _graph_curve(self, graph: Graph) -> tuple[GraphCurve, Value]:
        """Return the curves and their reach ``(n, 1)`` in a graph, whose inputs it declares."""
        shape: Any = getattr(self, "_input_shape", ())
        if len(shape) > 1:
            raise TypeError(
                f"{type(self).__name__} cannot be exported: it was fitted to samples of shape "
                f"{shape}, and the export knows tables only."
            )
        names = feature_names(self)
        numbers = graph.numbers(len(names), names)
        graph.require_finite(numbers, may_be_missing=True)
        return self._curve_of_numbers(numbers)

    def _curve_of_numbers(self, numbers: Value) -> tuple[GraphCurve, Value]:
        """Return curves and their reach ``(n, 1)`` for features that are numbers in a graph."""
        raise TypeError(
            f"{type(self).__name__} cannot be exported: the export knows the estimators of "
            "censquant, pools and pipelines of them."
        )
