"""Your own data and your own estimator in the benchmark's table.

python examples/own_data_and_method.py [file.csv time_column event_column]
"""

import sys
from pathlib import Path

import pandas as pd

from censquant import LinearQuantileRegressor, Surv
from censquant_bench import own_dataset, own_method, run

BUNDLED = Path(__file__).parents[1] / "src" / "censquant" / "datasets" / "data" / "gbsg2.csv"

file, time, event = sys.argv[1:] or (str(BUNDLED), "time", "cens")
frame = pd.get_dummies(pd.read_csv(file), drop_first=True, dtype=float)
y = Surv.from_dataframe(event, time, frame)
study = own_dataset(Path(file).stem, frame.drop(columns=[time, event]), y, taus=[0.1, 0.25, 0.5])
linear = own_method("my linear model", LinearQuantileRegressor(method="peng-huang"))
report = run("main", datasets=[study], methods=["cqrnn", "lognorm", linear], seeds=2)
print(report.to_markdown())
