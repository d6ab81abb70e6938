"""``censquant fit``, and the methods by the names that commands know them by."""

import time as clock
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from censquant._validation import check_choice, look_up
from censquant.cli import _options as options

RECOMMENDED = "recommended"
_CLASSES = {
    "cox": "CoxQuantileRegressor",
    "aft": "AFTRegressor",
    "forest": "CensoredQuantileForest",
    "boosted": "BoostedQuantileRegressor",
    "shape": "ShapeNN",
    "lognormal": "LogNormalNN",
    "weibull": "WeibullNN",
    "cqrnn": "CQRNN",
    "linear": "LinearQuantileRegressor",
}
METHOD_NAMES = (RECOMMENDED, *_CLASSES)
"""The recommended estimator, and the methods that it can be made of instead."""


@options.with_groups
def fit(
    data: options.Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")
    ],
    *,
    target: options.TargetOptions,
    columns: options.FeatureOptions,
    method: Annotated[
        str,
        typer.Option(
            help="recommended, or one or several of cox, aft, forest, boosted, shape, "
            "lognormal, weibull, cqrnn, linear with commas between, which are then pooled."
        ),
    ] = "recommended",
    quantiles: Annotated[
        str | None,
        typer.Option(help="Levels to fit, such as 0.1,0.5,0.9; 0.05 to 0.95 by default."),
    ] = None,
    censoring: Annotated[
        str, typer.Option(help="Whether censored events lie after (right) or before (left).")
    ] = "right",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Calibrate quantiles, intervals and bounds on rows that are held out in turn, so "
            "that they cover as often as they promise.",
        ),
    ] = False,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Fit a model to a table and write it to a file."""
    from censquant.cli._console import Reporter
    from censquant.cli._study import read_study

    report = Reporter(as_json=as_json)
    check_choice("--censoring", censoring, ("right", "left"))
    options.check_file("--output", output, overwrite=force)
    options.refuse_same_file(output, data, "the table")
    estimator = make_estimator(
        options.listed(method) or [],
        quantiles=options.level_list(quantiles),
        censoring=censoring,
        n_jobs=jobs,
        seed=seed,
        verbose=1,
        calibrate=calibrate,
    )
    study = read_study(data, target, columns, text, report)
    study.describe(report)
    started = clock.perf_counter()
    with report.noting_warnings():
        model = estimator.fit(study.X, study.y, groups=study.groups)
    seconds = clock.perf_counter() - started
    options.check_file("--output", output, overwrite=force)
    model.save(output, notes=study.notes)
    _describe_model(report, model, output, seconds)
    report.result(
        {
            "model": str(output),
            **study.entries(),
            **_model_entries(model),
            "seconds": round(seconds, 3),
        }
    )


def _model_entries(model: Any) -> dict[str, Any]:
    pooled = getattr(model, "estimator_", model)
    whole = pooled.candidates_["pool"]
    entries: dict[str, Any] = {
        "weights": pooled.weights_,
        "held_out": {
            "concordance": whole.concordance,
            "brier": whole.brier,
            "pinball": whole.pinball,
            "calibration_p_value": pooled.calibration_p_value_,
        },
    }
    if pooled is not model:
        entries["calibration"] = model.method_
        entries["coverage"] = [asdict(row) for row in model.coverage_.rows]
    return entries


def _describe_model(report: Any, model: Any, output: Path, seconds: float) -> None:
    entries = _model_entries(model)
    used = sorted(entries["weights"].items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {weight:.0%}" for name, weight in used if weight >= 0.005)
    report.line()
    report.line(f"Fitted in {seconds:.1f} s: {shown}")
    held_out = entries["held_out"]
    if held_out["concordance"] == held_out["concordance"]:
        calibration = held_out["calibration_p_value"]
        tested = "" if calibration is None else f", calibration test p = {calibration:.2g}"
        report.line(
            f"On rows held out of the fit: concordance {held_out['concordance']:.3f} (0.5 is "
            f"chance){tested}"
        )
    if "calibration" in entries:
        report.line(f"Calibrated by {entries['calibration']}")
        report.line("Coverage of bounds, estimated on rows held out of the fit:")
        known = [row for row in model.coverage_.rows if row.estimate == row.estimate]
        for line in str(replace(model.coverage_, rows=tuple(known))).splitlines():
            report.line(f"  {line}")
    report.line(f"Model: {output}")
    report.line(f"Next: censquant predict {output} NEW.csv -o TIMES.csv")


def make_estimator(
    methods: Sequence[str],
    *,
    quantiles: Sequence[float] | None = None,
    censoring: str = "right",
    n_jobs: int = -1,
    seed: int = 0,
    verbose: int = 0,
    calibrate: bool = False,
) -> Any:
    """Return an estimator of tables with categories and missing values.

    Methods other than the recommended one are its only candidates, so that they get the same
    encoding, and are scored on held-out rows as well.
    """
    from censquant import estimators

    for name in methods:
        look_up("method", name, dict.fromkeys(METHOD_NAMES))
    candidates = None
    if list(methods) != [RECOMMENDED]:
        if RECOMMENDED in methods:
            raise ValueError(
                f"--method {RECOMMENDED} stands alone, got {', '.join(methods)}: name methods "
                "without it to pool them."
            )
        candidates = [
            (name, _make_candidate(getattr(estimators, _CLASSES[name]), censoring))
            for name in methods
        ]
    made = estimators.CensoredQuantileRegressor(
        quantiles,
        candidates=candidates,
        censoring=censoring,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=verbose,
    )
    if not calibrate:
        return made
    return estimators.ConformalSurvivalRegressor(made, n_jobs=n_jobs, random_state=seed)


def _make_candidate(estimator: Any, censoring: str) -> Any:
    if censoring == "right":
        return estimator()
    made = estimator()
    if "censoring" not in made.get_params():
        raise ValueError(f"--censoring {censoring} is not known to {type(made).__name__}.")
    return made.set_params(censoring=censoring)
