"""Estimators as steps of scikit-learn's pipelines that skl2onnx converts."""

from typing import Any

from sklearn.pipeline import Pipeline

from censquant.estimators._base import BaseQuantileRegressor
from censquant.export import OPSET, GraphNodes

_ALIAS = "CensquantQuantileRegressor"


def register_onnx_converters() -> None:
    """Teach skl2onnx every estimator of this package, as it is or as a step of a Pipeline.

    Afterwards ``skl2onnx.to_onnx(pipeline, X[:1])`` converts a whole scikit-learn ``Pipeline`` or
    :class:`~censquant.QuantilePipeline` that ends in one of them. Its outputs are those of
    :meth:`~censquant.BaseQuantileRegressor.to_onnx`. Other levels than the fitted are chosen by
    ``options={id(estimator): {"quantiles": [0.1, 0.5]}}``. Calling it twice does no harm.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from censquant import LinearQuantileRegressor, register_onnx_converters
    >>> from censquant.datasets import make_norm_linear
    >>> register_onnx_converters()
    >>> X, y = make_norm_linear(100, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LinearQuantileRegressor([0.25, 0.5])).fit(X, y)
    >>> converted = skl2onnx.to_onnx(model, X[:1], target_opset=18)
    >>> [output.name for output in converted.graph.output]
    ['quantiles', 'median', 'identified']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError(
            "Conversion of pipelines needs the package skl2onnx: install it by "
            "`pip install censquant[onnx]`."
        ) from None
    for cls in _with_subclasses(BaseQuantileRegressor):
        if not issubclass(cls, Pipeline):  # which skl2onnx takes apart itself
            update_registered_converter(
                cls,
                f"{_ALIAS}{cls.__name__}",
                _check_shapes,
                _convert,
                parser=_parse,
                options={"quantiles": None},
            )


def _with_subclasses(cls: type) -> list[type]:
    """Return all classes below a class."""
    below: list[type] = cls.__subclasses__()
    return [*below, *(found for each in below for found in _with_subclasses(each))]


def _graph(model: Any, options: dict[str, Any]) -> Any:
    graph = model._graph(options.get("quantiles"))
    if len(graph.inputs) > 1:
        raise TypeError(
            f"{type(model).__name__} was fitted to categories, which skl2onnx cannot pass on as "
            "one matrix: use its method to_onnx."
        )
    return graph


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    operator = scope.declare_local_operator(f"{_ALIAS}{type(model).__name__}", model)
    operator.inputs = inputs
    is_double = isinstance(inputs[0].type, DoubleTensorType)
    kind = DoubleTensorType if is_double else FloatTensorType
    options = scope.get_options(model, {"quantiles": None}, fail=False)
    for name, value in _graph(model, options).outputs.items():
        shape = [None, *value.shape[1:]]
        operator.outputs.append(scope.declare_local_variable(name, kind(shape)))
    return operator.outputs


def _check_shapes(operator: Any) -> None:
    """Leave the shapes as they were declared."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    if container.target_opset_onnx < OPSET:
        raise ValueError(
            f"target_opset must be at least {OPSET} for {type(operator.raw_operator).__name__}, "
            f"got {container.target_opset_onnx}."
        )
    model = operator.raw_operator
    options = container.get_options(model, {"quantiles": None})
    graph = _graph(model, options)
    names = [variable.full_name for variable in operator.inputs]
    is_double = isinstance(operator.inputs[0].type, DoubleTensorType)
    nodes = GraphNodes(
        graph,
        "float64" if is_double else "float32",
        prefix=f"{scope.get_unique_operator_name('censquant')}_",
    )
    nodes.write(
        names,
        [variable.full_name for variable in operator.outputs],
    )
    for tensor in nodes.initializers:
        container.add_initializer(tensor.name, tensor.data_type, list(tensor.dims), tensor)
    for node, attributes in nodes.with_attributes():
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
