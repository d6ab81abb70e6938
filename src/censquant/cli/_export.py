"""``censquant export``."""

from pathlib import Path
from typing import Annotated

import typer

from censquant.cli import _options as options


def export(
    model: options.Model,
    onnx: Annotated[
        Path,
        typer.Option(metavar="OUT", help="File for the model as ONNX, which runs without Python."),
    ],
    quantiles: Annotated[
        str | None,
        typer.Option(
            help="Levels that the file returns, such as 0.1,0.5,0.9; by default those of the fit."
        ),
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(help="Numbers that the file takes and returns: float32 or float64."),
    ] = "float32",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write a fitted model in another format, to run it where censquant is not installed."""
    from censquant._validation import check_choice
    from censquant.cli._console import Reporter
    from censquant.estimators import load_model

    reporter = Reporter(as_json=as_json)
    check_choice("--dtype", dtype, ("float32", "float64"))
    levels = options.level_list(quantiles)
    options.check_file("--onnx", onnx, overwrite=force)
    options.refuse_same_file(onnx, model, "the model")
    fitted = load_model(model)
    fitted.to_onnx(onnx, levels, dtype=dtype)
    written = levels or [float(level) for level in fitted.quantiles_]
    shown = ", ".join(f"{level:g}" for level in written)
    size = onnx.stat().st_size
    reporter.line(f"Exported {type(fitted).__name__} with the levels {shown}")
    reporter.line(f"Written: {onnx} ({size / 1e6:.2f} MB)")
    reporter.result({"onnx": str(onnx), "quantiles": written, "dtype": dtype, "bytes": size})
