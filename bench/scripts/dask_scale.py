"""A fit on four workers, one of which is killed, beside the fit of one machine to the same rows.

Rows are made on the workers, see `wave_rows.py`; one partition is empty. One worker is killed
(SIGKILL) after the first pass. Both fits stop early, after two passes without a lower loss of the
rows held out. The check loss is that of the true event times of new rows, the mean over the 19
levels. `speed` compares one pass of one worker with one pass of two, over 0.4 of the rows; compare
ratios, not times.

    python bench/scripts/dask_scale.py [--rows 10000000] [--passes 20] [--parts fit speed]
"""

import argparse
import os
import resource
import signal
import tempfile
import threading
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from wave_rows import N_FEATURES, check_loss, draw, observe

from censquant import CQRNN
from censquant._files import read_arrays
from censquant.dask import DaskCQRNN

N_PARTS, EMPTY, TESTED = 40, 7, 100_000
FEATURES = [f"x{k}" for k in range(N_FEATURES)]
SETTINGS = {"time_transform": "log", "level_rule": "interpolate", "random_state": 0}
STOPPING = {"early_stopping": True, "n_iter_no_change": 2}


def make_rows(n_rows, seed):
    """Return features, times under observation, which are events, and the times of all events."""
    rng = np.random.default_rng(seed)
    x, event_time = draw(n_rows, rng)
    return x, *observe(event_time, rng), event_time


def make_partition(number, n_rows):
    """Rows of one partition as a frame; one of them has none."""
    x, observed, event, _ = make_rows(0 if number == EMPTY else n_rows, number)
    frame = pd.DataFrame(x, columns=FEATURES)
    return frame.assign(time=observed, event=event)


def collection(n_rows):
    """All rows, not made yet."""
    size = n_rows // (N_PARTS - 1)
    meta = make_partition(EMPTY, size)
    return dd.from_map(make_partition, range(N_PARTS), n_rows=size, meta=meta)


def workers(n_workers):
    """Return a cluster of processes with one thread each."""
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")


def peak_mb(dask_worker=None):
    """Largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def kill_in_the_middle(client, folder, seen):
    """Kill one worker once a pass is done, by what the checkpoint says."""
    victim = next(iter(client.run(os.getpid).values()))
    while True:
        time.sleep(0.2)
        for path in Path(folder).glob("*.checkpoint"):
            header, _ = read_arrays(path, "cluster checkpoint")
            if header["history"]:
                os.kill(victim, signal.SIGKILL)
                seen["killed after rounds"] = header["n_rounds"]
                return


def compare(n_rows, passes):
    """Fit on a cluster with a worker that dies, and on one machine."""
    seen = {}
    x, _, _, truth = make_rows(TESTED, 10_000)
    before = peak_mb()
    with (
        workers(4) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        killer = threading.Thread(
            target=kill_in_the_middle, args=(client, folder, seen), daemon=True
        )
        killer.start()
        began = time.perf_counter()
        model = DaskCQRNN(max_epochs=passes, **STOPPING, **SETTINGS)
        model.fit(collection(n_rows), time="time", event="event", checkpoint_dir=folder)
        seen["cluster: seconds"] = round(time.perf_counter() - began)
        killer.join()
        peaks = client.run(peak_mb).values()
        seen["largest worker: peak MB"] = round(max(peaks))
    seen["client: peak MB"] = round(peak_mb())
    seen["client: MB before"] = round(before)
    size = n_rows // (N_PARTS - 1)
    parts = [make_rows(0 if k == EMPTY else size, k)[:3] for k in range(N_PARTS)]
    features, times, events = (np.concatenate(column) for column in zip(*parts, strict=True))
    seen["rows"] = len(features)
    seen["cluster: passes"] = len(model.history_)
    del parts
    began = time.perf_counter()
    alone = CQRNN(max_epochs=passes, **STOPPING, **SETTINGS).fit(features, (times, events))
    seen["one machine: seconds"] = round(time.perf_counter() - began)
    seen["one machine: passes"] = len(alone.history_)
    frame = pd.DataFrame(x, columns=FEATURES)
    levels = alone.quantiles_
    losses = [
        check_loss(truth, fitted.predict_quantiles(known, beyond="extrapolate"), levels)
        for fitted, known in ((model.to_local(), frame), (alone, x))
    ]
    seen["cluster: check loss"], seen["one machine: check loss"] = (
        round(loss, 6) for loss in losses
    )
    seen["cluster / one machine"] = round(losses[0] / losses[1], 4)
    return seen


def seconds_per_pass(n_workers, n_rows):
    """Time of a pass, without what a fit does before its first."""
    with workers(n_workers) as cluster, Client(cluster):
        rows = collection(n_rows).persist()
        seconds = []
        for passes in (1, 1, 4):  # the first loads compiled code
            began = time.perf_counter()
            model = DaskCQRNN(max_epochs=passes, n_replicas=n_workers, **SETTINGS)
            model.fit(rows, time="time", event="event")
            seconds.append(time.perf_counter() - began)
    return (seconds[2] - seconds[1]) / 3


def speed(n_rows):
    """Compare one worker with two."""
    one, two = (seconds_per_pass(n, n_rows) for n in (1, 2))
    return {
        "rows of the passes": n_rows,
        "one worker: seconds per pass": round(one, 2),
        "two workers: seconds per pass": round(two, 2),
        "one / two": round(one / two, 2),
    }


def main():
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--parts", nargs="+", choices=["fit", "speed"], default=["fit", "speed"])
    args = parser.parse_args()
    results = {}
    if "fit" in args.parts:
        results |= compare(args.rows, args.passes)
    if "speed" in args.parts:
        results |= speed(2 * args.rows // 5)
    print("| figure | value |")
    print("|---|---|")
    for name, value in results.items():
        print(f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value} |")


if __name__ == "__main__":
    main()
