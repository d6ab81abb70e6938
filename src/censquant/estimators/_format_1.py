"""Model files of format 1, which censquant 0.1.0 wrote: one estimator, and no digest."""

from typing import Any

from censquant.estimators._parts import Arrays, Part, expect

_COMMON = ("feature_names", "quantiles", "time_transform", "follow_up")
_LINEAR = ("has_intercept", "stopped_at", "any_censored", "note")
_NEURAL = ("input_shape", "n_members", "history", "any_censored", "standardized")
# Outputs of networks that predict parameters of a distribution; others have one per level.
_N_OUTPUTS = {"LogNormalNN": 2, "WeibullNN": 2, "AsymmetricLaplaceNN": 3}


def part_of_format_1(header: dict[str, Any], arrays: Arrays) -> Part:
    """Return the part that today's version would have written."""
    name = expect("class", header["class"], str)
    parameters = expect("parameters", header["parameters"], dict)
    is_linear = name == "LinearCQR"
    description = {
        entry: header[entry] for entry in (*_COMMON, *(_LINEAR if is_linear else _NEURAL))
    }
    if is_linear:
        description["n_features"] = header["n_features"]
        arrays = {key: array for key, array in arrays.items() if key != "crossing_levels"}
    else:
        description["n_features"] = description["input_shape"][0]
        description["network"] = _network(name, header)
    return Part(name, parameters, description, arrays)


def _network(name: str, header: dict[str, Any]) -> dict[str, Any]:
    """Return the description of the networks, which format 1 left to the parameters."""
    parameters, n_levels = header["parameters"], len(header["quantiles"])
    n_outputs = 1 if name == "SequentialGridNN" else _N_OUTPUTS.get(name, n_levels)
    if header["custom_network"]:
        network: dict[str, Any] = {"kind": "custom", "n_outputs": n_outputs}
    else:
        hidden = parameters["hidden_layer_sizes"]
        network = {
            "kind": "dense",
            "sizes": [
                header["input_shape"][0],
                *([hidden] if isinstance(hidden, int) else hidden),
                n_outputs,
            ],
            "activation": parameters["activation"],
            "dropout": parameters["dropout"],
        }
    if parameters["head"] == "increasing":
        network = {"kind": "headed", "head": "increasing", "network": network}
    if name == "SequentialGridNN":
        network = {"kind": "stacked", "networks": [network] * n_levels}
    return network
