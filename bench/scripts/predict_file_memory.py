"""Peak memory and speed of predictions for a Parquet file, by its number of rows.

    python bench/scripts/predict_file_memory.py [ROWS ...] [-o TABLE.md]

Each size is predicted by the command in a process of its own; the peak is that of the process, with
the interpreter and all libraries: the first line, a file with a single row, says how much that is.
Anonymous memory is what the process has written; the rest are files that the system may drop.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from versions import versions

from censquant import CensoredQuantileRegressor, CoxQuantileRegressor

N_FEATURES = 10
PIECE = 100_000
# In a process of its own, so that the peak is of this prediction alone.
PROGRAM = """
import resource, subprocess, sys, time
command = [sys.executable, "-m", "censquant", *sys.argv[1:]]
process, anonymous = subprocess.Popen(command, stderr=subprocess.DEVNULL), 0
while process.poll() is None:
    with open(f"/proc/{process.pid}/status") as status:
        found = [line.split()[1] for line in status if line.startswith("RssAnon")]
    anonymous = max([anonymous, *map(int, found)])
    time.sleep(0.02)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, used.ru_maxrss, anonymous, used.ru_utime + used.ru_stime)
"""


def rows(n_rows, rng):
    """Return features: ten numbers and a category."""
    frame = pd.DataFrame(rng.normal(size=(n_rows, N_FEATURES)))
    frame.columns = [f"x{k}" for k in range(N_FEATURES)]
    frame["site"] = rng.choice(["north", "south", "east"], n_rows)
    return frame


def write(path, n_rows, rng):
    """Write rows to a Parquet file, a piece at a time."""
    writer = None
    for start in range(0, n_rows, PIECE):
        piece = pa.Table.from_pandas(rows(min(PIECE, n_rows - start), rng), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    writer.close()


def fitted(rng):
    """Return a model whose predictions cost little beside reading and writing."""
    X = rows(2_000, rng)
    time_, end = rng.exponential(np.exp(X["x0"])), rng.exponential(2.0, len(X))
    cox = CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], random_state=0)
    return cox.fit(X, (np.minimum(time_, end), time_ <= end))


def measured(folder, data):
    """Return seconds, seconds of the processor, and megabytes at most (all, anonymous)."""
    start = time.perf_counter()
    command = ("predict", folder / "model", data, "-o", folder / "out.parquet", "--force")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, command)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, peak, anonymous, processor = map(float, done.stdout.splitlines()[-1].split())
    assert code == 0
    return time.perf_counter() - start, processor, peak / 1024, anonymous / 1024


def main():
    """Print one line per number of rows, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", type=int, default=[1_000_000, 5_000_000])
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    lines = [
        "| rows | file | time | processor | peak | anonymous |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    print(*lines, sep="\n")
    with TemporaryDirectory() as place:
        folder = Path(place)
        fitted(rng).save(folder / "model")
        for n_rows in (1, *options.rows):
            data = folder / "data.parquet"
            write(data, n_rows, rng)
            seconds, processor, peak, anonymous = measured(folder, data)
            size = data.stat().st_size / 1e6
            assert pq.ParquetFile(folder / "out.parquet").metadata.num_rows == n_rows
            lines.append(
                f"| {n_rows:,} | {size:.0f} MB | {seconds:.1f} s | {processor:.1f} s "
                f"| {peak:.0f} MB | {anonymous:.0f} MB |"
            )
            print(lines[-1], flush=True)
    if options.output is not None:
        heading = f"`python {' '.join(sys.argv)}` ({versions()}, pyarrow {pa.__version__})"
        options.output.write_text("\n".join([heading, "", *lines, ""]))


if __name__ == "__main__":
    main()
