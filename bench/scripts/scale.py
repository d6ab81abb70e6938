"""Time, memory and accuracy of fits to files, and of predictions of files, by the number of rows.

    python bench/scripts/scale.py [--fit ROWS ...] [--predict ROWS ...] [--kill ROWS ...]
        [--folder FOLDER]

Rows are generated in a stream into Parquet files of a million rows each, and deleted afterwards.
Each size is fitted, or predicted, by a process of its own. Its anonymous memory is read every 20
milliseconds: pages of mapped files, which the system takes back when memory is short, are not
counted. Ten features, three of them with effects that bend and interact; log-normal times, of which
about a third are censored. Pinball losses are those of 100,000 new rows without censoring, averaged
over 19 levels; no model can be better than the true quantiles. Seconds of the processor are of use
where other programs run beside.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from versions import versions
from wave_rows import N_FEATURES, check_loss, draw, observe, true_quantiles

FILE_ROWS, PIECE_ROWS = 1_000_000, 100_000
TAUS = np.arange(1, 20) / 20
KEPT = ["x0", "time"]
NAMES = [f"x{k}" for k in range(N_FEATURES)]


def generate(folder, n_rows, rng):
    """Write rows to Parquet files, a piece at a time."""
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        writer = None
        for first in range(start, min(start + FILE_ROWS, n_rows), PIECE_ROWS):
            n_piece = min(PIECE_ROWS, n_rows - first)
            x, event_time = draw(n_piece, rng)
            columns = dict(zip(NAMES, x.T, strict=True))
            columns["time"], columns["event"] = observe(event_time, rng)
            piece = pa.table(columns)
            writer = writer or pq.ParquetWriter(folder / f"{number:05d}.parquet", piece.schema)
            writer.write_table(piece)
        writer.close()


def anonymous_bytes():
    """Return the memory of this process that no file backs."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


class Watch:
    """Seconds, and the most anonymous memory, of what is inside."""

    def __enter__(self):
        self.peak = self.start = anonymous_bytes()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        self._wall, self._processor = time.perf_counter(), time.process_time()
        return self

    def _look(self):
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, anonymous_bytes())

    def __exit__(self, *error):
        self.wall = time.perf_counter() - self._wall
        self.processor = time.process_time() - self._processor
        self._ended.set()
        self._thread.join()


def estimator():
    """Return the model of all measurements."""
    from censquant import CQRNN

    return CQRNN(TAUS, max_epochs=1, batch_size=256, time_transform="log", random_state=0)


def fit(folder, model_path):
    """Fit to the files of a folder and return what it took; run in a process of its own."""
    import pandas as pd

    from censquant._engine.training import _shard_writer

    small = Path(folder) / "small"
    estimator().fit_dataset(small, time="time", event="event")  # compiles and imports
    writing = {}
    real = _shard_writer._Writing.run

    def run(self, scaling):
        with Watch() as watch:
            found = real(self, scaling)
        writing["processor"] = watch.processor
        return found

    _shard_writer._Writing.run = run
    with Watch() as watch:
        model = estimator().fit_dataset(Path(folder) / "data", time="time", event="event")
    model.save(model_path)
    x, times = draw(100_000, np.random.default_rng(1))
    predicted = model.predict_quantiles(pd.DataFrame(x, columns=NAMES), TAUS, beyond="extrapolate")
    return {
        "wall": watch.wall,
        "processor": watch.processor,
        "writing": writing["processor"],
        "peak": watch.peak,
        "start": watch.start,
        "loss": check_loss(times, predicted, TAUS),
        "true": check_loss(times, true_quantiles(x, TAUS), TAUS),
    }


def predict(folder, model_path):
    """Predict the files of a folder and return what it took; run in a process of its own."""
    import censquant

    model = censquant.load_model(model_path)
    folder = Path(folder)
    model.predict_dataset(folder / "small", folder / "few", TAUS)
    with Watch() as watch:
        model.predict_dataset(folder / "data", folder / "out", TAUS)
    return {
        "wall": watch.wall,
        "processor": watch.processor,
        "peak": watch.peak,
        "start": watch.start,
    }


def predict_parts(folder, model_path):
    """Predict the files of a folder, with columns to recognise rows by; run to be killed."""
    import censquant

    out = Path(folder) / "out"
    censquant.load_model(model_path).predict_dataset(Path(folder) / "data", out, TAUS, keep=KEPT)
    return {}


def killed(n_rows, place, model_path):
    """Kill a prediction twice, go on with it, and compare its rows with those of the data."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        data, out = Path(folder) / "data", Path(folder) / "out"
        data.mkdir()
        generate(data, n_rows, np.random.default_rng(0))
        n_files = len(list(data.iterdir()))
        command = [sys.executable, __file__, "--task", "predict_parts", folder, str(model_path)]
        ended_at = []
        for goal in (n_files // 3, 2 * n_files // 3, n_files):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            while process.poll() is None:
                if goal < n_files and len(list(out.glob("*.parquet"))) >= goal:
                    process.kill()
                time.sleep(0.05)
            ended_at.append(len(list(out.glob("*.parquet"))))
        parts = sorted(out.glob("*.parquet"))
        counts = [pq.ParquetFile(part).metadata.num_rows for part in parts]
        same = all(
            pq.read_table(path, columns=KEPT).equals(pq.read_table(part, columns=KEPT))
            for path, part in zip(sorted(data.iterdir()), parts, strict=True)
        )
    return {"ended_at": ended_at, "rows": sum(counts), "same": same}


def measured(task, n_rows, place, model_path):
    """Return what a task took for so many rows."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for name, n in (("small", 2_000), ("data", n_rows)):
            (Path(folder) / name).mkdir()
            generate(Path(folder) / name, n, np.random.default_rng(0))
        command = [sys.executable, __file__, "--task", task, folder, str(model_path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    """Print a table for the fits and one for the predictions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", type=float, nargs="*", default=[1e5, 1e6, 1e7])
    parser.add_argument("--predict", type=float, nargs="*", default=[2e5, 2e6])
    parser.add_argument("--kill", type=float, nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--task", nargs=3)
    asked = parser.parse_args()
    if asked.task:
        task, *places = asked.task
        tasks = {"fit": fit, "predict": predict, "predict_parts": predict_parts}
        print(json.dumps(tasks[task](*places)))
        return
    print(versions(), flush=True)
    place = Path(tempfile.mkdtemp(dir=asked.folder))
    try:
        model_path = place / "model.cq"
        print(
            "\n| rows | seconds | processor µs/row | of them writing shards | anonymous MB | "
            "beyond the start | pinball loss | of the true quantiles |\n|" + "---:|" * 8,
            flush=True,
        )
        for rows in asked.fit:
            found = measured("fit", int(rows), place, model_path)
            print(
                f"| {int(rows):,} | {found['wall']:.0f} | {1e6 * found['processor'] / rows:.2f} | "
                f"{1e6 * found['writing'] / rows:.2f} | {found['peak'] / 1e6:.0f} | "
                f"{(found['peak'] - found['start']) / 1e6:.0f} | {found['loss']:.5f} | "
                f"{found['true']:.5f} |",
                flush=True,
            )
        if not asked.fit:
            measured("fit", 100_000, place, model_path)
        print(
            "\n| rows | seconds | processor µs/row | anonymous MB | beyond the start |\n|"
            + "---:|" * 5,
            flush=True,
        )
        for rows in asked.predict:
            found = measured("predict", int(rows), place, model_path)
            print(
                f"| {int(rows):,} | {found['wall']:.0f} | {1e6 * found['processor'] / rows:.2f} | "
                f"{found['peak'] / 1e6:.0f} | {(found['peak'] - found['start']) / 1e6:.0f} |",
                flush=True,
            )
        for rows in asked.kill:
            found = killed(int(rows), place, model_path)
            print(
                f"\nKilled twice, parts at each end: {found['ended_at']}; {found['rows']:,} rows "
                f"of {int(rows):,}, in order and the same as in the data: {found['same']}.",
                flush=True,
            )
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
