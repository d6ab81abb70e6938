"""``censquant contrast``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from censquant.cli import _options as options


@options.with_groups
def contrast(
    model: options.Model,
    data: options.Data,
    feature: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column whose values are compared.")
    ],
    to: Annotated[str, typer.Option(metavar="VALUE", help="Value that everybody is given.")],
    from_: Annotated[
        str, typer.Option("--from", metavar="VALUE", help="Value that it is compared with.")
    ],
    *,
    what: Annotated[
        str,
        typer.Option(
            help="Quantity that is compared: restricted_mean, risk, survival, median or quantile."
        ),
    ] = "restricted_mean",
    at: Annotated[
        str | None,
        typer.Option(
            help="Horizon of the restricted mean, times of the risk, or levels of the quantile, "
            "such as 365,1825."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of subgroups, which are compared too."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column that names rows that belong together, such as visits."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="bootstrap (predictions of the model, and refits for their interval) or "
            "doubly_robust (corrected by what was observed; restricted_mean, risk, survival)."
        ),
    ] = "bootstrap",
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals, inside (0, 1).")
    ] = 0.95,
    resamples: Annotated[int, typer.Option(min=2, help="Refits of bootstrap.")] = 200,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File for finished refits: the same command continues with them."),
    ] = None,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    target: options.TargetOptions,
    text: options.TextFileOptions,
    as_json: options.Json = False,
) -> None:
    """Compare the times if everybody had one value of a column instead of another.

    DATA is the table that the model was fitted to.
    """
    from censquant.cli._console import Reporter
    from censquant.cli._study import read_fitted, read_groups
    from censquant.inspection import contrast as run

    report = Reporter(as_json=as_json)
    times = options.number_list("--at", at)
    read = read_fitted(model, data, None, target, text, report)
    rows = read.table.frame_for(read.model)
    with report.noting_warnings():
        found = run(
            read.model,
            rows,
            read.target.for_fit,
            feature=feature,
            to=to,
            from_=from_,
            what=what,
            at=times,
            by=_subgroups(read.table, rows, by),
            groups=None if groups is None else read_groups(read.table, groups),
            method=method,
            confidence=confidence,
            n_resamples=resamples,
            checkpoint=checkpoint,
            random_state=seed,
            n_jobs=jobs,
            verbose=0 if as_json else 1,
        )
    for line in str(found).splitlines():
        report.line(line)
    unit = read.columns.unit
    if unit:
        report.line(f"Times are in {unit}.")
    report.result(
        {
            "feature": found.feature,
            "to": found.to,
            "from": found.from_,
            "what": found.what,
            "method": found.method,
            "confidence": found.confidence,
            "refits": found.n_resamples,
            "unit": unit,
            "rows": [row._asdict() for row in found.rows],
            "overlap": [row._asdict() for row in found.overlap],
            "assumptions": list(found.assumptions),
        }
    )


def doubly_robust_mean(read: Any, feature: str, to: Any, from_: Any, by: Any, seed: int) -> Any:
    """Return the effect on the restricted mean, which a report shows."""
    from censquant.inspection import contrast as run

    rows = read.table.frame_for(read.model)
    return run(
        read.model,
        rows,
        read.target.for_fit,
        feature=feature,
        to=to,
        from_=from_,
        by=_subgroups(read.table, rows, by),
        method="doubly_robust",
        random_state=seed,
    )


def _subgroups(table: Any, rows: Any, by: str | None) -> Any:
    """Return a feature by its name, or the labels that any other column holds."""
    if by is None or by in rows.columns:
        return by
    import pandas as pd

    if table.column(by, "by") is not None and table.kinds[by] == "number":
        return pd.Series(table.numbers(by, "by"), name=by)
    found = ["missing" if one is None else str(one) for one in table.column(by, "by").to_pylist()]
    return pd.Series(found, name=by)
