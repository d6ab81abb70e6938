"""Made-up records of engines in the form of NASA's C-MAPSS files."""

import numpy as np


def engines(lives, rng):
    """Text of records in NASA's form: two sensors that drift towards the failure, and noise."""
    for unit, (life, recorded) in enumerate(lives, start=1):
        for cycle in range(1, recorded + 1):
            wear = max(0.0, 1.0 - (life - cycle) / 100.0)
            sensors = np.concatenate([[600.0 + wear, 40.0 - wear], np.full(19, 5.0)])
            sensors[:14] += rng.normal(0.0, 0.2, 14)
            yield " ".join(map(str, [unit, cycle, 0.0, 0.0, 100.0, *sensors]))


def add_engines(folder, shortest, longest):
    """Write the files of 100 engines that failed and of 100 that were stopped before."""
    rng = np.random.default_rng(0)
    failed, others = rng.integers(shortest, longest, (2, 100))
    recorded = (others * rng.uniform(0.5, 0.95, 100)).astype(int)
    lives = {"train": zip(failed, failed, strict=True), "test": zip(others, recorded, strict=True)}
    for part, pairs in lives.items():
        rows = "\n".join(engines(pairs, rng))
        folder.add(f"cmapss_fd001/{part}_FD001.txt", f"{rows}\n")
    left = "\n".join(map(str, others - recorded))
    folder.add("cmapss_fd001/RUL_FD001.txt", f"{left}\n")
