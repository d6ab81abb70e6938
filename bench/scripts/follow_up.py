"""What the model of follow-up calls identified, beside the truth in scenes that are known.

A scene has a law of the event time T and of the censoring time C given the features. A cell is an
individual with a level from 0.05 to 0.95; its true follow-up is S_C(Q), the probability of being
under observation at its true quantile Q. Three rules are judged on new individuals:

- "limit": Q is at most the forest's limit. This is the forest alone.
- "limit, level": the level is also at most the forest's level.
- "curve": the same two with the quantiles that ``CQRNN(level_rule="interpolate", y_star=None)``
  predicts in place of Q, so errors of the curve count as well; only with ``--curves``.

Printed are percentages: "none" of the cells without any follow-up (S_C = 0) that are called
identified, with the worst seed in brackets, and "lost" of those with S_C of at least 0.05 that are
refused.

    python bench/scripts/follow_up.py [--rows 2000] [--seeds 0 5] [--scenes abrupt ...] [--curves]
    python bench/scripts/follow_up.py --speed
    python bench/scripts/follow_up.py --real
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant import CQRNN
from censquant._trees._follow_up import FollowUp
from censquant.datasets import load, make_lognorm_8d, make_norm_4d
from censquant.survival import read_target

Floats = NDArray[np.float64]

LEVELS = np.round(np.arange(1, 20) * 0.05, 2)
N_TEST = 2_000
NORM_OFFSET = 6.5
REAL = ("gbsg2", "whas", "metabric", "gbsg", "support", "tmb_immuno", "breast_msk", "lgggbm")


@dataclass(frozen=True)
class Scene:
    """Laws of both times given the features, each by its quantiles."""

    features: Callable[[int, np.random.Generator], Floats]
    event: Callable[[Floats, Floats], Floats]
    censoring: Callable[[Floats, Floats], Floats]
    followed: Callable[[Floats, Floats], Floats]
    """Probability of C above each time, for times of shape (n, k)."""

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return features, observed times and whether they are events."""
        x = self.features(n, rng)
        event = self.event(np.maximum(rng.random((n, 1)), 1e-12), x)[:, 0]
        censoring = self.censoring(rng.random((n, 1)), x)[:, 0]
        return x, np.minimum(event, censoring), event <= censoring


def uniform_features(p: int, low: float = -1.0) -> Callable[[int, np.random.Generator], Floats]:
    """Return a sampler of features uniform on (low, low + 2)."""
    return lambda n, rng: rng.uniform(low, low + 2.0, (n, p))


def groups(n: int, rng: np.random.Generator) -> Floats:
    """Return a two-valued, a four-valued, a constant and two continuous features."""
    x = rng.uniform(-1, 1, (n, 5))
    x[:, 0], x[:, 1], x[:, 2] = rng.integers(0, 2, n) - 0.5, rng.integers(0, 4, n), 1.0
    return x


def exponential(scale: Callable[[Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
    """Return the quantiles of an exponential time."""
    return lambda level, x: -scale(x)[:, None] * np.log1p(-level)


def constant(x: Floats) -> Floats:
    """Return 1 for every individual."""
    return np.ones(len(x))


def by_second(x: Floats) -> Floats:
    """Return a scale that depends on the second feature alone."""
    return np.exp(0.5 * x[:, 1])


def until(low: Callable[[Floats], Floats], high: Callable[[Floats], Floats]) -> tuple:
    """Return the laws of a censoring time uniform on (low, high), which may be one point."""

    def followed(t: Floats, x: Floats) -> Floats:
        a, b = low(x)[:, None], high(x)[:, None]
        return np.where(b > a, np.clip((b - t) / np.maximum(b - a, 1e-300), 0, 1), t < b)

    return lambda level, x: low(x)[:, None] + (high(x) - low(x))[:, None] * level, followed


def abrupt(is_short: Callable[[Floats], NDArray[np.bool_]]) -> tuple:
    """Return follow-up to 0.4-0.5 for some and to 4-5 for the others."""
    return until(
        lambda x: np.where(is_short(x), 0.4, 4.0), lambda x: np.where(is_short(x), 0.5, 5.0)
    )


def positive(x: Floats) -> NDArray[np.bool_]:
    """Return whether the first feature is above 0."""
    return x[:, 0] > 0


def entry(x: Floats) -> Floats:
    """Return the end of follow-up where the first feature is the date of entry."""
    return 2.5 + 2 * x[:, 0]


def waiting(level: Floats, x: Floats) -> Floats:
    """Return quantiles of a Weibull time of shape 2."""
    return 2 * by_second(x)[:, None] * np.sqrt(-np.log1p(-level))


def third(x: Floats) -> Floats:
    """Return the end of follow-up of three groups."""
    return np.select([x[:, 0] < -0.3, x[:, 0] < 0.4], [1.0, 3.0], 6.0)


def zero(x: Floats) -> Floats:
    """Return 0 for every individual."""
    return np.zeros(len(x))


def published(make: Callable, end: float, p: int, **options) -> Scene:
    """Return a scene of the paper, C uniform on (0, end), with useless features up to ``p``."""
    data = make(1, random_state=0, **options)
    q = data.n_features
    return Scene(
        uniform_features(p, 0.0),
        lambda level, x: _at(data, level, x[:, :q]),
        *until(zero, lambda x: np.full(len(x), end)),
    )


def _at(data, level: Floats, x: Floats) -> Floats:
    """Return the true quantiles at the same levels for all, or at one level for each."""
    if level.ndim == 1:
        return data.true_quantiles(level, X=x)
    # One level per individual: both laws are a location plus a scale times a normal quantile.
    from scipy.special import ndtri

    middle, upper = data.true_quantiles([0.5, 0.9], X=x).T
    if "LogNorm" in data.name:
        middle, upper = np.log(middle), np.log(upper)
    times = middle[:, None] + (upper - middle)[:, None] * ndtri(level) / ndtri(0.9)
    return np.exp(times) if "LogNorm" in data.name else times


NORM = {"censoring": "heavy", "offset": NORM_OFFSET}
SCENES = {
    "abrupt": Scene(uniform_features(2), exponential(constant), *abrupt(positive)),
    "abrupt, 8 features": Scene(uniform_features(8), exponential(constant), *abrupt(positive)),
    "abrupt, 30 features": Scene(uniform_features(30), exponential(constant), *abrupt(positive)),
    "abrupt, groups": Scene(groups, exponential(by_second), *abrupt(positive)),
    "abrupt, 10 %": Scene(
        uniform_features(4), exponential(constant), *abrupt(lambda x: x[:, 0] > 0.8)
    ),
    "abrupt, xor": Scene(
        uniform_features(3), exponential(constant), *abrupt(lambda x: x[:, 0] * x[:, 1] > 0)
    ),
    "three groups": Scene(
        uniform_features(6), exponential(by_second), *until(lambda x: 0.5 * third(x), third)
    ),
    "Norm heavy": published(make_norm_4d, 12.0, 4, **NORM),
    "Norm heavy, 30 features": published(make_norm_4d, 12.0, 30, **NORM),
    "LogNorm medium": published(make_lognorm_8d, 1.0, 8, censoring="medium"),
    "LogNorm heavy": published(make_lognorm_8d, 0.4, 8, censoring="heavy"),
    "end by 1 of 2": Scene(
        uniform_features(2), exponential(constant), *until(zero, lambda x: 2 + 1.5 * x[:, 0])
    ),
    "end by 1 of 4, T too": Scene(
        uniform_features(4),
        exponential(lambda x: np.exp(0.7 * x[:, 1] - 0.7 * x[:, 0])),
        *until(zero, lambda x: 2 + 1.5 * x[:, 0]),
    ),
    "end by 4 of 8": Scene(
        uniform_features(8),
        exponential(lambda x: np.exp(0.5 * x[:, 0] + 0.5 * x[:, 4])),
        *until(zero, lambda x: 2.5 + 0.5 * x[:, :4].sum(axis=1)),
    ),
    "date of entry": Scene(uniform_features(4), waiting, *until(entry, entry)),
    "date of entry, drop-out": Scene(
        uniform_features(4),
        waiting,
        lambda level, x: np.minimum(-8 * np.log1p(-level), entry(x)[:, None]),
        lambda t, x: np.where(t < entry(x)[:, None], np.exp(-np.maximum(t, 0) / 8), 0.0),
    ),
    "C exponential": Scene(
        uniform_features(4),
        exponential(by_second),
        lambda level, x: -np.log1p(-level) * np.exp(x[:, :1] - 0.5 * x[:, 1:2]),
        lambda t, x: np.exp(-t / np.exp(x[:, :1] - 0.5 * x[:, 1:2])),
    ),
    "60 % without end": Scene(
        uniform_features(4),
        exponential(by_second),
        lambda level, x: np.where(level < 0.4, level / 0.4, 1e9),
        lambda t, x: 1 - 0.4 * np.clip(t, 0, 1),
    ),
}


def judged(called: NDArray[np.bool_], followed: Floats) -> list[float]:
    """Return "none" and "lost" in percent."""
    none, enough = followed <= 0, followed >= 0.05
    lost = 100 * float(np.mean(~called[enough])) if enough.any() else math.nan
    return [100 * float(np.mean(called[none])) if none.any() else math.nan, lost]


def run(scene: Scene, n: int, seed: int, *, with_curve: bool) -> list[float]:
    """Return "none" and "lost" of each rule for one seed."""
    rng = np.random.default_rng(seed)
    x, times, event = scene.draw(n, rng)
    new = scene.features(N_TEST, rng)
    quantiles = scene.event(LEVELS, new)
    followed = scene.followed(quantiles, new)
    model = FollowUp.fit(x, times, event, np.ones(n), rng)
    limit, level = model.limit_and_level(new)
    reached = level[:, None] >= LEVELS
    inside = quantiles <= limit[:, None]
    values = judged(inside, followed) + judged(inside & reached, followed)
    if with_curve:
        fitted = CQRNN(level_rule="interpolate", y_star=None, random_state=seed)
        predicted = fitted.fit(x, (times, event)).predict_quantiles(new, beyond="extrapolate")
        inside = predicted <= limit[:, None]
        values += judged(inside, scene.followed(predicted, new))
        values += judged(inside & reached, followed)
    return values


def show_scenes(names: list[str], n: int, seeds: range, *, with_curve: bool) -> None:
    """Print one row per scene."""
    titles = ["limit", "limit, level"] + (["curve: own", "curve: true"] if with_curve else [])
    print(f"{n:,} rows, seeds {seeds.start} to {seeds.stop - 1}, {N_TEST:,} new individuals")
    print(f"{'':26s}" + "".join(f"{title:>26s}" for title in titles))
    print(f"{'':26s}" + "".join(f"{'none (worst)':>18s}{'lost':>8s}" for _ in titles))
    for name in names:
        rows = np.array([run(SCENES[name], n, seed, with_curve=with_curve) for seed in seeds])
        cells = ""
        for none, lost in zip(rows.T[::2], rows.T[1::2], strict=True):
            text = f"{none.mean():.1f} ({none.max():.1f})" if np.isfinite(none).any() else "-"
            cells += f"{text:>18s}{lost.mean():8.1f}"
        print(f"{name:26s}{cells}", flush=True)


def show_speed() -> None:
    """Print how long fitting and predicting take, on one core after compilation."""
    print(f"{'rows':>12s}{'features':>10s}{'fit':>12s}{'limit+level':>14s}{'state':>10s}")
    for n, p in ((500, 8), (4_000, 8), (4_000, 30), (100_000, 10), (1_000_000, 10), (2_000, 784)):
        rng = np.random.default_rng(0)
        x = rng.uniform(-1, 1, (n, p))
        event, end = rng.exponential(size=n), rng.uniform(0, 2 + x[:, 0])
        rows = x, np.minimum(event, end), event <= end, np.ones(n)
        new = rng.uniform(-1, 1, (min(100_000, 10_000_000 // p), p))
        model, fits, answers = FollowUp.fit(*rows, rng), [], []
        model.limit_and_level(new[:10])
        for seed in range(20 if n < 10_000 else 5):
            start = time.thread_time()
            model = FollowUp.fit(*rows, np.random.default_rng(seed))
            fits.append(time.thread_time() - start)
            start = time.thread_time()
            model.limit_and_level(new)
            answers.append((time.thread_time() - start) / len(new))
        size = sum(array.nbytes for array in model.state().values())
        print(
            f"{n:12,d}{p:10d}{1e3 * min(fits):9.1f} ms{1e6 * min(answers):11.2f} µs"
            f"{size / 1e3:7.0f} kB"
        )


def show_real() -> None:
    """Print the mean reach on real data, and what happened by the predicted median, out of fold."""
    print(f"{'':14s}{'rows':>8s}{'events':>8s}{'curve':>8s}{'level':>8s}{'reach':>8s}{'by it':>8s}")
    for name in REAL:
        X, y = load(name)
        x, target = np.asarray(X, dtype=np.float64), read_target(y)
        fold = np.random.default_rng(0).integers(0, 5, len(x))
        curve, level, median = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
        for k in range(5):
            train, test = fold != k, fold == k
            rows = x[train], target.time[train], target.event[train]
            rng = np.random.default_rng(k)
            model = FollowUp.fit(*rows, np.ones(train.sum()), rng)
            fitted = CQRNN(level_rule="interpolate", y_star=None, random_state=k)
            fitted.fit(rows[0], rows[1:])
            predicted = fitted.predict_quantiles(x[test], beyond="extrapolate")
            limit, level[test] = model.limit_and_level(x[test])
            inside = (predicted <= limit[:, None]).sum(axis=1)
            curve[test] = np.concatenate(([0.0], fitted.quantiles_))[inside]
            median[test] = predicted[:, 9]
        reach = np.minimum(curve, level)
        print(
            f"{name:14s}{len(x):8d}{target.event.mean():8.2f}{curve.mean():8.2f}"
            f"{level.mean():8.2f}{reach.mean():8.2f}{(reach >= 0.5).mean():8.2f}"
        )


def main() -> None:
    """Read the options and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 5))
    parser.add_argument("--scenes", nargs="+", default=list(SCENES))
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--real", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.speed:
        show_speed()
    elif options.real:
        show_real()
    else:
        seeds = range(*options.seeds)
        show_scenes(options.scenes, options.rows, seeds, with_curve=options.curves)


if __name__ == "__main__":
    main()
