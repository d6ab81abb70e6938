"""A small made study in the format of the field's comparison."""

import numpy as np
import pandas as pd

from data_folder import empty_folder

N_ROWS = 150


def made_study(tmp_path, monkeypatch):
    """Data folder with two sets of 150 rows, three folds of each, and scores of three learners."""
    folder = empty_folder(tmp_path, monkeypatch)
    rng = np.random.default_rng(0)
    for name in ("lung", "uis"):
        age, sex = rng.normal(60, 8, N_ROWS), rng.choice(["F", "M"], N_ROWS)
        event_time = np.exp(rng.normal(3 - 0.05 * (age - 60) + (sex == "F"), 0.5))
        censoring = rng.uniform(1, 80, N_ROWS)
        table = {
            "age": age,
            "sex": sex,
            "time": np.minimum(event_time, censoring),
            "status": (event_time <= censoring).astype(int),
        }
        folder.add(f"field/datasets/{name}.csv", pd.DataFrame(table).to_csv(index=False))
        parts = np.array_split(rng.permutation(N_ROWS) + 1, 3)
        folds = pd.concat(
            pd.DataFrame(
                {
                    "set": np.where(np.isin(np.arange(1, N_ROWS + 1), part), "test", "train"),
                    "iteration": number,
                    "row_id": np.arange(1, N_ROWS + 1),
                }
            )
            for number, part in enumerate(parts, start=1)
        )
        place = folder.root / "field" / "folds" / f"{name}.csv"
        place.parent.mkdir(exist_ok=True)
        folds.to_csv(place, index=False)
    scores = [
        (task, learner, tuned, number, c, isbs, dcalib)
        for task in ("lung", "uis")
        for number in (1, 2, 3)
        for learner, tuned, c, isbs, dcalib in (
            ("CPH", "harrell_c,isbs", 0.7, 0.15, 8.0),
            ("KM", "harrell_c,isbs", 0.5, 0.2, 7.0),
            ("ORSF", "harrell_c", 0.72, np.nan, 1.0),
            ("ORSF", "isbs", np.nan, 0.14, 9.0),
            ("SSVM", "harrell_c", 0.6, np.nan, np.nan),
        )
    ]
    columns = ["task", "learner", "tuned_for", "iteration", "harrell_c", "isbs", "dcalib"]
    place = folder.root / "field" / "published_scores.csv"
    pd.DataFrame(scores, columns=columns).to_csv(place, index=False)
    return folder
