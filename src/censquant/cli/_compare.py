"""``censquant compare``."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from censquant._files import replacing
from censquant._plugins import BENCH_COMMAND, load_plugins
from censquant._validation import look_up
from censquant.cli import _options as options
from censquant.cli._fit import METHOD_NAMES, make_estimator
from censquant.cli._tables import Table, TableCell

if TYPE_CHECKING:
    from censquant.metrics._compare import Comparison, ComparisonScore

_BASELINE = "kaplan_meier"
_PEERS = "peers"


@options.with_groups
def compare(
    data: options.Data,
    *,
    target: options.TargetOptions,
    columns: options.FeatureOptions,
    methods: Annotated[
        str,
        typer.Option(
            help="Methods with commas between: those of fit, kaplan_meier, and with "
            "censquant-bench methods of other libraries such as sksurv_forest or lifelines_cox, or "
            "peers for all of these that are installed. The others are compared with the first."
        ),
    ] = "recommended,cox,kaplan_meier",
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 5,
    quantiles: Annotated[
        str, typer.Option(help="Levels that are judged.")
    ] = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    resamples: Annotated[int, typer.Option(min=2, help="Draws of the bootstrap.")] = 500,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="Also write a table.")
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare methods on a table by cross-validation, with intervals and paired tests."""
    from censquant.cli._console import Reporter, bar
    from censquant.cli._study import read_study
    from censquant.metrics import compare as run
    from censquant.metrics._dependence import dependence_words

    report = Reporter(as_json=as_json)
    _check_output(output, overwrite=force)
    levels = options.level_list(quantiles) or []
    made = _make_methods(
        _read_methods(options.listed(methods) or []), levels, n_jobs=jobs, seed=seed
    )
    study = read_study(data, target, columns, text, report)
    study.describe(report)
    n_fits, n_done = folds * len(made), 0
    with bar("fitting") as progress, report.noting_warnings():

        def advance(name: str) -> None:
            nonlocal n_done
            n_done += 1
            progress(n_done, n_fits, "fits")

        found = run(
            made,
            study.X,
            study.y,
            quantiles=levels,
            cv=folds,
            groups=study.groups,
            n_resamples=resamples,
            random_state=seed,
            progress=advance,
        )
    report.line()
    report.table(_comparison_table(found))
    report.line(_explain(found))
    doubt = dependence_words(found.censoring_p_value, "the pinball loss may prefer a wrong method")
    if doubt:
        report.note(f"{doubt}.")
    for row in found.rows:
        if row.error:
            report.note(f"{row.method} failed: {row.error}")
    if output is not None:
        _write_comparison(found, output, overwrite=force)
        report.line(f"Written: {output}")
    report.result({**study.entries(), **found.to_dict()})


def _explain(found: "Comparison") -> str:
    return (
        f"{found.n_folds}-fold cross-validation on {found.n_rows:,} rows with {found.n_events:,} "
        "events. A smaller log score and a smaller pinball loss are better, the latter in units of "
        "time, and a larger concordance (0.5 is chance). A small calibration p says that quantiles "
        f"are wrong. Differences are from {found.reference} on the same rows, with 95 % intervals "
        "and p-values corrected for the number of methods (Holm)."
    )


def _method_titles() -> dict[str, str]:
    """Return the names of all methods, with their titles."""
    titles = {**dict.fromkeys(METHOD_NAMES, ""), _BASELINE: "one curve for everybody"}
    for peers in _peer_libraries():
        titles |= peers.PEER_TITLES
    return titles


def _peer_libraries() -> tuple[Any, ...]:
    """Return installed modules with ``PEER_TITLES``, ``available_peers`` and ``make_peer``."""
    return tuple(load_plugins("censquant.peers").values())


def _read_methods(names: Sequence[str]) -> list[str]:
    """Return checked names, with all installed peers in place of ``peers``."""
    found = list[str]()
    for name in names:
        if name == _PEERS:
            if not _peer_libraries():
                raise ImportError(f"--methods peers needs the benchmark: {BENCH_COMMAND}")
            found.extend(peer for peers in _peer_libraries() for peer in peers.available_peers())
        else:
            look_up("method", name, _method_titles())
            found.append(name)
    if not found:
        raise ValueError("--methods must name at least one method, got none.")
    return list(dict.fromkeys(found))


def _make_methods(
    names: Sequence[str], quantiles: Sequence[float], *, n_jobs: int, seed: int
) -> dict[str, Any]:
    """Return unfitted estimators by name."""
    from censquant.metrics._compare import KaplanMeierBaseline

    made: dict[str, Any] = {}
    for name in names:
        if name == _BASELINE:
            made[name] = KaplanMeierBaseline()
        elif name in METHOD_NAMES:
            made[name] = make_estimator([name], quantiles=quantiles, n_jobs=n_jobs, seed=seed)
        else:
            (peers,) = (one for one in _peer_libraries() if name in one.PEER_TITLES)
            made[name] = peers.make_peer(name, random_state=seed)
    return made


def _comparison_table(found: "Comparison") -> Table:
    """Return the table for people: scores, and differences from the first method."""
    columns = ("log score", "difference", "pinball loss", "difference", "concordance", "difference")
    rows = []
    for row in found.rows:
        cells = ["failed", *[""] * len(columns)]
        if not row.error:
            *scores, calibration = row.scores
            cells = [text for one in scores for text in (_with_interval(one), _difference(one))]
            cells.append(f"{calibration.value:.2g}")
        rows.append(tuple(map(TableCell, (row.method, *cells, f"{row.seconds:.1f}"))))
    names = ("method", *columns, "calibration p", "seconds")
    return Table("Cross-validated scores", names, tuple(rows))


def _check_output(path: Path | None, *, overwrite: bool) -> None:
    """Refuse a place where no CSV file can be written."""
    if path is None:
        return
    options.check_file("--output", path, overwrite=overwrite)
    if path.suffix.lower() != ".csv":
        raise ValueError(f"--output must end with .csv, got {path.name!r}.")


def _write_comparison(found: "Comparison", path: Path, *, overwrite: bool) -> None:
    """Write one row per method and score."""
    from censquant.metrics._compare import ComparisonScore

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(ComparisonScore.__dataclass_fields__)
    writer.writerow(["method", *names, "seconds", "error"])
    for row in found.rows:
        for score in row.scores or (None,):
            cells = [_cell(getattr(score, name, "")) for name in names]
            writer.writerow([row.method, *cells, f"{row.seconds:.3f}", row.error])
    with replacing(path, overwrite=overwrite) as file:
        file.write(text.getvalue().encode())


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _with_interval(score: "ComparisonScore") -> str:
    return f"{score.value:.4g} ({score.lower:.4g} to {score.upper:.4g})"


def _difference(score: "ComparisonScore") -> str:
    if math.isnan(score.p_value):
        return ""
    shown = f"p = {score.p_value:.2g}" if score.p_value >= 0.001 else "p < 0.001"
    ends = f"{score.difference_lower:+.3g} to {score.difference_upper:+.3g}"
    return f"{score.difference:+.3g} ({ends}), {shown}"
