"""Peak memory and speed of predictions for a Parquet file, by its number of rows.

    python benchmarks/predict_file_memory.py [ROWS ...]

Each size is predicted by the command in a process of its own; the peak is that of the process, with
the interpreter and all libraries: the first line, a file with a single row, says how much that is.
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from censquant import CensoredQuantileRegressor, CoxQuantileRegressor

N_FEATURES = 10
PIECE = 100_000
# In a process of its own, so that the peak is of this prediction alone.
PROGRAM = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "censquant", *sys.argv[1:]], stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_maxrss, used.ru_utime + used.ru_stime)
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
    """Return seconds, seconds of the processor, and megabytes at most, of one prediction."""
    start = time.perf_counter()
    command = ("predict", folder / "model", data, "-o", folder / "out.parquet", "--force")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, command)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, peak, processor = map(float, done.stdout.splitlines()[-1].split())
    assert code == 0
    return time.perf_counter() - start, processor, peak / 1024


def main():
    """Print one line per number of rows."""
    sizes = [int(text) for text in sys.argv[1:]] or [500_000, 5_000_000]
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as place:
        folder = Path(place)
        fitted(rng).save(folder / "model")
        print(f"{'rows':>10} {'file':>9} {'time':>9} {'processor':>11} {'peak':>9}")
        for n_rows in (1, *sizes):
            data = folder / "data.parquet"
            write(data, n_rows, rng)
            seconds, processor, peak = measured(folder, data)
            size = data.stat().st_size / 1e6
            assert pq.ParquetFile(folder / "out.parquet").metadata.num_rows == n_rows
            print(
                f"{n_rows:>10,} {size:>6.0f} MB {seconds:>7.1f} s {processor:>9.1f} s "
                f"{peak:>6.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
