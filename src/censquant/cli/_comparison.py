"""Methods of a comparison by name, and its table."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from censquant._files import replacing
from censquant._plugins import BENCH_COMMAND, load_plugins
from censquant._validation import look_up
from censquant.cli._arguments import check_file
from censquant.cli._methods import METHOD_NAMES, make_estimator
from censquant.cli._tables import Table, TableCell
from censquant.metrics._compare import Comparison, ComparisonScore, KaplanMeierBaseline

_BASELINE = "kaplan_meier"
_PEERS = "peers"


def method_titles() -> dict[str, str]:
    """Return the names of all methods, with what is known of them."""
    titles = {**dict.fromkeys(METHOD_NAMES, ""), _BASELINE: "one curve for everybody"}
    for peers in _peer_libraries():
        titles |= peers.PEER_TITLES
    return titles


def _peer_libraries() -> tuple[Any, ...]:
    """Return installed modules with ``PEER_TITLES``, ``available_peers`` and ``make_peer``."""
    return tuple(load_plugins("censquant.peers").values())


def method_list(names: Sequence[str]) -> list[str]:
    """Return checked names, with all installed peers in place of ``peers``."""
    found = list[str]()
    for name in names:
        if name == _PEERS:
            if not _peer_libraries():
                raise ImportError(f"--methods peers needs the benchmark: {BENCH_COMMAND}")
            found.extend(peer for peers in _peer_libraries() for peer in peers.available_peers())
        else:
            look_up("method", name, method_titles())
            found.append(name)
    if not found:
        raise ValueError("--methods must name at least one method, got none.")
    return list(dict.fromkeys(found))


def made_methods(
    names: Sequence[str], quantiles: Sequence[float], *, n_jobs: int, seed: int
) -> dict[str, Any]:
    """Return unfitted estimators by name."""
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


def comparison_table(found: Comparison) -> Table:
    """Return the table for people: scores, and differences from the first method."""
    columns = ["method", "pinball loss", "difference", "concordance", "difference "]
    rows = []
    for row in found.rows:
        cells = [row.method, "failed", "", "", "", "", f"{row.seconds:.1f}"]
        if not row.error:
            pinball, order, calibration = row.scores
            cells[1:6] = [
                _with_interval(pinball),
                _difference(pinball),
                _with_interval(order),
                _difference(order),
                f"{calibration.value:.2g}",
            ]
        rows.append(tuple(TableCell(text) for text in cells))
    return Table("Cross-validated scores", (*columns, "calibration p", "seconds"), tuple(rows))


def check_table_place(path: Path | None, *, overwrite: bool) -> None:
    """Refuse a place where no CSV file can be written."""
    if path is None:
        return
    check_file("--output", path, overwrite=overwrite)
    if path.suffix.lower() != ".csv":
        raise ValueError(f"--output must end with .csv, got {path.name!r}.")


def write_comparison(found: Comparison, path: Path, *, overwrite: bool) -> None:
    """Write one row per method and score."""
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


def _with_interval(score: ComparisonScore) -> str:
    return f"{score.value:.4g} ({score.lower:.4g} to {score.upper:.4g})"


def _difference(score: ComparisonScore) -> str:
    if math.isnan(score.p_value):
        return ""
    shown = f"p = {score.p_value:.2g}" if score.p_value >= 0.001 else "p < 0.001"
    ends = f"{score.difference_lower:+.3g} to {score.difference_upper:+.3g}"
    return f"{score.difference:+.3g} ({ends}), {shown}"
