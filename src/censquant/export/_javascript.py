"""Graphs as JSON, and the script that evaluates it in a page."""

import base64
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.export._graph import Block, Graph, narrowed, used_constants

_TYPES = {
    np.dtype(np.float32): "f4",
    np.dtype(np.float64): "f8",
    np.dtype(np.uint8): "u1",
    np.dtype(np.uint16): "u2",
    np.dtype(np.int32): "i4",
}


@dataclass(frozen=True)
class PageModel:
    """A fitted model as JSON, with the script that evaluates it in a web page.

    Parameters
    ----------
    json : str
        The model as data. It has no characters that end a ``<script>`` element.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import make_norm_linear
    >>> data = make_norm_linear(100, random_state=0)
    >>> page = CoxQuantileRegressor().fit(data.X, data.y).to_javascript([0.5], times=[1.0])
    >>> page.json[:10], page.n_bytes < 100_000
    ('{"inputs":', True)
    """

    json: str

    @property
    def script(self) -> str:
        """The source of ``censquant.load_model(json).predict({X: rows})``; needs nothing else."""
        return files("censquant.export").joinpath("js", "evaluate.js").read_text(encoding="utf-8")

    @property
    def n_bytes(self) -> int:
        """Length of JSON and script together: what the model adds to a page."""
        return len(self.json.encode()) + len(self.script.encode())


def page_model(graph: Graph) -> PageModel:
    """Return a graph as JSON for a web page."""
    described = {
        "inputs": {
            name: {"id": value.number, "kind": value.kind, "columns": graph.columns[name]}
            for name, value in graph.inputs.items()
        },
        "outputs": {name: value.number for name, value in graph.outputs.items()},
        "facts": graph.facts,
        "nodes": _nodes(graph.top),
        "constants": {number: _stored(graph.constants[number]) for number in used_constants(graph)},
    }
    text = json.dumps(described, separators=(",", ":"), allow_nan=False)
    return PageModel(text.replace("<", "\\u003c"))


def _nodes(block: Block) -> list[dict[str, Any]]:
    nodes = []
    for node in block.nodes:
        entry: dict[str, Any] = {
            "op": node.operation,
            "inputs": [value.number for value in node.inputs],
            "outputs": [value.number for value in node.outputs],
        }
        if node.options:
            entry["options"] = node.options
        if node.body is not None:
            entry["body"] = {
                "inputs": [value.number for value in node.body.inputs],
                "nodes": _nodes(node.body),
                "outputs": [value.number for value in node.body.outputs],
            }
        nodes.append(entry)
    return nodes


def _stored(array: NDArray[Any]) -> dict[str, Any]:
    small = narrowed(array.astype(np.uint8) if array.dtype == np.bool_ else array)
    if small.dtype.kind in "iu" and small.dtype not in _TYPES:
        small = small.astype(np.float64)  # integers beyond 32 bits; those of pages are exact
    little = np.ascontiguousarray(small.astype(small.dtype.newbyteorder("<")))
    data = base64.b64encode(little.tobytes()).decode()
    return {"type": _TYPES[small.dtype], "shape": list(array.shape), "data": data}
