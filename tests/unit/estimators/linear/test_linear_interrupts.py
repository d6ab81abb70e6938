"""Ctrl-C during a linear fit is a KeyboardInterrupt, whenever it comes."""

import json
import os
import subprocess
import sys

import pytest

# A timer sends the signal, as a terminal would, at moments all over a fit that takes minutes.
SCRIPT = """
import json, os, signal, sys, threading, warnings
import numpy as np
from sklearn.model_selection import GridSearchCV
from censquant import LinearQuantileRegressor

n_rows, n_jobs, moments = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, 6))
time, limit = np.exp(0.3 * X[:, 0] + rng.normal(size=n_rows)), rng.exponential(3, n_rows)
y = np.empty(n_rows, dtype=[("event", bool), ("time", float)])
y["event"], y["time"] = time <= limit, np.minimum(time, limit)
few = LinearQuantileRegressor(n_bootstrap=2, bootstrap="weights", n_jobs=n_jobs, random_state=0)
few.fit(X[:1000], y[:1000])  # loads everything
many = LinearQuantileRegressor(n_bootstrap=2000, bootstrap="weights", n_jobs=n_jobs, random_state=0)
search = GridSearchCV(many, {"fit_intercept": [True]}, cv=2)
warnings.simplefilter("ignore")
raised = []
for place, moment in enumerate(moments):
    timer = threading.Timer(moment, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        (search if place % 2 else many).fit(X, y)
    except BaseException as error:
        raised.append(type(error).__name__)
    else:
        raised.append("nothing")
print(json.dumps(raised))
"""


@pytest.mark.parametrize(
    ("n_rows", "n_jobs"), [pytest.param(4000, 1, marks=pytest.mark.slow), (2000, 2)]
)
def test_ctrl_c_stays_a_keyboard_interrupt(n_rows, n_jobs):
    moments = [0.02 + 0.25 * place for place in range(6)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([n_rows, n_jobs, moments])],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["KeyboardInterrupt"] * len(moments)
