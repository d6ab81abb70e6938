"""Speed of the boosted trees and of the forest, beside scikit-learn's trees.

The first table justifies trees of our own: processor time per tree of depth 3 on 64 bins, for
boosting's tree with its derivatives, scikit-learn's histogram boosting (squared error, no
censoring: a lower bound of what it would cost) and one ``DecisionTreeRegressor`` per round. The
others time whole fits and predictions, and the forest by its rows per tree.

    python bench/scripts/tree_speed.py [--rows 2000 100000] [--features 10] [--n-jobs 2]
"""

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from censquant import BoostedQuantileRegressor, CensoredQuantileForest
from censquant_bench.metrics import uncensored_quantile_loss

LEVELS = [0.1, 0.5, 0.9]
N_TREES = 60


def make_data(
    n_rows: int, n_features: int, seed: int = 0
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return features, censored times, and the times themselves; the scale depends on features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    spread = 0.5 + 0.3 * np.abs(X[:, 2])
    event_time = np.exp(X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + spread * rng.normal(size=n_rows))
    end = rng.exponential(3.0, n_rows)
    return X, (np.minimum(event_time, end), event_time <= end), event_time


def cpu_and_wall(run: Callable[[], object]) -> tuple[float, float]:
    """Return processor and wall-clock seconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def per_tree(n_rows: int, n_features: int) -> None:
    """Print milliseconds of processor time per tree."""
    X, (times, event), _ = make_data(n_rows, n_features)
    target = np.log(times)
    train = np.flatnonzero(np.arange(n_rows) % 3 > 0)
    # Three folds: each booster trains on two thirds of the rows and is applied to all of them.
    own = BoostedQuantileRegressor(max_iter=N_TREES // 2, random_state=0)
    own._stands_alone = False
    found = cpu_and_wall(lambda: own.fit(X, (times, event)))[0] / (3 * N_TREES)
    print(f"  boosted                         {1e3 * found:8.3f} ms per tree")
    theirs = HistGradientBoostingRegressor(
        max_iter=N_TREES, max_depth=3, max_bins=64, early_stopping=False, learning_rate=0.1
    )
    with threadpool_limits(1):
        bound = cpu_and_wall(lambda: theirs.fit(X[train], target[train]))[0] / N_TREES
    print(
        f"  HistGradientBoostingRegressor   {1e3 * bound:8.3f} ms per tree ({bound / found:.1f}x)"
    )
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10)
    sample = train[: int(0.7 * len(train))]
    alone = cpu_and_wall(lambda: tree.fit(X[sample], target[sample]))[0]
    print(
        f"  DecisionTreeRegressor           {1e3 * alone:8.3f} ms per tree ({alone / found:.1f}x)"
    )


def main() -> None:
    """Time everything in turn and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 100_000])
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    print(
        f"{options.features} features; {platform.machine()}, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}"
    )
    X, y, _ = make_data(200, options.features)
    for model in (BoostedQuantileRegressor(max_iter=10), CensoredQuantileForest(n_estimators=2)):
        model.fit(X, y).predict_quantiles(X, beyond="extrapolate")  # compiles
    X_test, _, known = make_data(20_000, options.features, seed=1)
    for n_rows in options.rows:
        print(f"{n_rows} rows")
        per_tree(n_rows, options.features)
        X, y, _ = make_data(n_rows, options.features)
        models = {
            "boosted": BoostedQuantileRegressor(),
            "boosted, depth 5": BoostedQuantileRegressor(
                max_depth=5, min_samples_leaf=3, fit_scale=False
            ),
        }
        for most in (5_000, 20_000, 50_000, None):
            if most is None or most < n_rows:
                models[f"forest, {most or 'all'} rows per tree"] = CensoredQuantileForest(
                    max_samples=most
                )
        for name, model in models.items():
            model.set_params(random_state=0, n_jobs=options.n_jobs)
            cpu, wall = cpu_and_wall(lambda m=model, X=X, y=y: m.fit(X, y))
            answer = model.predict_quantiles(X_test, LEVELS, beyond="extrapolate")
            loss = uncensored_quantile_loss(known, answer, LEVELS)
            asked = cpu_and_wall(lambda m=model: m.predict_quantiles(X_test, beyond="extrapolate"))
            print(
                f"  {name:32s} fit {cpu:7.2f} s of CPU, {wall:7.2f} s; "
                f"{1e6 * asked[0] / len(X_test):5.1f} us of CPU per predicted row; loss {loss:.4f}"
            )


if __name__ == "__main__":
    main()
