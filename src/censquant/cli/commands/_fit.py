"""``censquant fit``."""

import time as clock
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from censquant.cli import _options as options
from censquant.cli._arguments import check_file, level_list, listed


def fit(
    data: options.Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")
    ],
    time: options.Time = None,
    event: options.Event = None,
    event_value: options.EventValue = None,
    start: options.Start = None,
    end: options.End = None,
    until: options.Until = None,
    unit: options.Unit = None,
    date_format: options.DateFormat = None,
    features: options.Features = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    groups: options.Groups = None,
    method: Annotated[
        str,
        typer.Option(
            help="recommended, or one or several of cox, forest, boosted, shape, lognormal, "
            "weibull, cqrnn, linear with commas between, which are then pooled."
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
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Fit a model to a table and write it to a file.

    For example: censquant fit fleet.csv --time days --event failed -o fleet.model
    """
    from censquant._validation import check_choice
    from censquant.cli._console import Reporter
    from censquant.cli._methods import make_estimator
    from censquant.cli._study import read_study
    from censquant.cli._target import target_columns, target_notes, text_options

    report = Reporter(as_json=as_json)
    check_choice("--censoring", censoring, ("right", "left"))
    check_file("--output", output, overwrite=force)
    if force and output.exists() and Path(data).exists() and output.samefile(data):
        raise ValueError(f"{str(output)!r} is the table itself: name another file.")
    estimator = make_estimator(
        listed(method) or [],
        quantiles=level_list(quantiles),
        censoring=censoring,
        n_jobs=jobs,
        seed=seed,
        verbose=1,
        calibrate=calibrate,
    )
    study = read_study(
        data,
        target_columns(time, event, event_value, start, end, until, unit, date_format),
        report,
        options=text_options(separator, decimal, thousands, encoding, missing),
        features=features,
        drop=drop,
        categorical=categorical,
        groups=groups,
    )
    study.tell(report)
    started = clock.perf_counter()
    with report.noting_warnings():
        model = estimator.fit(study.X, study.y, groups=study.groups)
    seconds = clock.perf_counter() - started
    check_file("--output", output, overwrite=force)
    model.save(output, notes=target_notes(study))
    _tell_model(report, model, output, seconds)
    report.result(
        {"model": str(output), **study.entries(), **_entries(model), "seconds": round(seconds, 3)}
    )


def _entries(model: Any) -> dict[str, Any]:
    pooled = getattr(model, "estimator_", model)
    whole = pooled.candidates_["pool"]
    return {
        "weights": pooled.weights_,
        "held_out": {
            "concordance": whole.concordance,
            "brier": whole.brier,
            "pinball": whole.pinball,
            "calibration_p_value": pooled.calibration_p_value_,
        },
        **({} if pooled is model else _promises(model)),
    }


def _promises(model: Any) -> dict[str, Any]:
    return {
        "calibration": model.method_,
        "coverage": [asdict(row) for row in model.coverage_.rows],
    }


def _tell_model(report: Any, model: Any, output: Path, seconds: float) -> None:
    entries = _entries(model)
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
