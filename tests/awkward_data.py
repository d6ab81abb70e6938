"""Awkward data sets: what a user may pass that no textbook shows, one Hypothesis draw each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

SIZES = (20, 23, 40, 90, 160, 400)
UNITS = (1.0, 1.0, 1.0, 365.25, 1e-9, 1e12)


@dataclass(frozen=True)
class AwkwardData:
    """One data set and the words that describe it."""

    described: str
    X: Any
    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    censoring: str

    def __repr__(self):
        return f"<{self.described}>"

    @property
    def y(self):
        return self.time, self.event

    @property
    def counts(self):
        """Which rows a fit uses."""
        return np.ones(len(self.time), dtype=bool) if self.weight is None else self.weight > 0

    @property
    def n_events(self):
        """Observed events, where whole weights count."""
        used = self.counts & self.event
        is_count = self.weight is not None and (self.weight == np.floor(self.weight)).all()
        return int(self.weight[used].sum() if is_count else used.sum())

    @property
    def has_few_events(self):
        """Whether there is too little to compare candidates by."""
        used = np.flatnonzero(self.counts & self.event)
        if self.groups is not None:
            units = set(self.groups[used])
        else:
            rows = pd.DataFrame(self.X).iloc[used].astype(str).assign(time=self.time[used])
            units = set(rows.itertuples(index=False))
        return self.n_events < 10 or len(units) < 2

    def further_rows(self, rng):
        """Rows to predict: some of the fit's, some with values that it has not seen."""
        rows = rng.choice(len(self.time), 30)
        if isinstance(self.X, pd.DataFrame):
            further = self.X.iloc[rows].copy().reset_index(drop=True)
            for name in further.columns:
                if further[name].dtype.kind == "f":
                    further.loc[:9, name] = further.loc[:9, name] * 3.0
            return further
        further = self.X[rows].copy()
        further[:10] *= 3.0
        return further


# Features


def plain(rng, n):
    return rng.normal(size=(n, 3))


def one_column(rng, n):
    return rng.normal(size=(n, 1))


def wide(rng, n):
    return rng.normal(size=(n, 200))


def duplicated_columns(rng, n):
    x = rng.normal(size=(n, 2))
    return np.hstack([x, x, x[:, :1], -2.0 * x[:, 1:]])


def constant_columns(rng, n):
    x = rng.normal(size=(n, 3))
    x[:, 1] = 7.0
    return x


def nothing_but_constants(rng, n):
    return np.full((n, 2), 3.0)


def far_outliers(rng, n):
    return rng.standard_cauchy(size=(n, 3)) ** 3


def mixed_units(rng, n):
    return rng.normal(size=(n, 4)) * np.array([1e-9, 1.0, 1e6, 1e12]) + np.array([0, 5, 0, 1e13])


def few_values(rng, n):
    return rng.integers(0, 2, size=(n, 4)).astype(float)


def missing_numbers(rng, n):
    x = rng.normal(size=(n, 4))
    x[rng.random(size=x.shape) < 0.3] = np.nan
    x[:, 3] = np.nan
    return x


def messy_frame(rng, n):
    text = pd.Series(rng.choice(["a", "b", "rare thing", None], size=n, p=[0.5, 0.3, 0.05, 0.15]))
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(60, 10, n)),
            "stage": pd.Categorical(rng.choice(["I", "II", "III"], size=n)),
            "note": text.astype(object),
            "smoker": rng.random(n) < 0.3,
            "id": [f"patient {i}" for i in range(n)],
            "empty": np.full(n, np.nan),
        }
    )


FEATURES = (
    plain,
    one_column,
    wide,
    duplicated_columns,
    constant_columns,
    nothing_but_constants,
    far_outliers,
    mixed_units,
    few_values,
    missing_numbers,
    messy_frame,
)


def signal(X):
    """One number per row that times may depend on."""
    first = X["age"].to_numpy() if isinstance(X, pd.DataFrame) else X[:, 0]
    first = np.nan_to_num(first, nan=float(np.nanmedian(first)))
    spread = np.subtract(*np.percentile(first, [75, 25])) or 1.0
    return np.clip((first - np.median(first)) / spread, -2.0, 2.0)


# Times of events


def exponential(rng, z):
    return np.exp(0.5 * z) * rng.exponential(size=len(z))


def normal(rng, z):
    return 10.0 + z + rng.normal(size=len(z))


def heavy_tails(rng, z):
    return np.exp(0.5 * z + 3.0 * rng.normal(size=len(z)))


def heavier_tails(rng, z):
    return np.exp(0.5 * z) * (1.0 + rng.pareto(0.5, size=len(z)))


def mixture(rng, z):
    return np.where(rng.random(len(z)) < 0.5, 1.0, 50.0 + z) + 0.1 * rng.exponential(size=len(z))


def cure_fraction(rng, z):
    return np.where(rng.random(len(z)) < 0.4, 1e3, rng.exponential(size=len(z)))


def constant_target(rng, z):
    return np.full(len(z), 5.0)


def nothing_but_zeros(rng, z):
    return np.zeros(len(z))


def ties(rng, z):
    return np.ceil(2.0 * np.exp(0.3 * z) * rng.exponential(size=len(z)))


def zero_times(rng, z):
    return np.where(rng.random(len(z)) < 0.3, 0.0, exponential(rng, z))


def negative_times(rng, z):
    return z + 2.0 * rng.normal(size=len(z))


def only_negative_times(rng, z):
    return -5.0 - np.exp(0.3 * z) * rng.exponential(size=len(z))


def one_far_time(rng, z):
    time = exponential(rng, z)
    time[0] = 1e5
    return time


def no_noise(rng, z):
    return 10.0 + 2.0 * z


TIMES = (
    exponential,
    normal,
    heavy_tails,
    heavier_tails,
    mixture,
    cure_fraction,
    constant_target,
    nothing_but_zeros,
    ties,
    zero_times,
    negative_times,
    only_negative_times,
    one_far_time,
    no_noise,
)


# Censoring: the observed times and events


def all_observed(rng, time, z):
    return time, np.ones(len(time), dtype=bool)


def half_censored(rng, time, z):
    low, high = np.quantile(time, [0.1, 0.9])
    limit = rng.uniform(low, high, len(time)) if high > low else time * rng.choice([0.5, 2.0])
    return np.minimum(time, limit), time <= limit


def end_of_study(rng, time, z):
    limit = np.quantile(time, 0.4)
    return np.minimum(time, limit), time <= limit


def nearly_all_censored(rng, time, z):
    event = rng.random(len(time)) < 0.01
    event[rng.integers(len(time))] = True
    return time, event


def two_events(rng, time, z):
    event = np.zeros(len(time), dtype=bool)
    event[rng.choice(len(time), 2, replace=False)] = True
    return time, event


def ten_events(rng, time, z):
    event = np.zeros(len(time), dtype=bool)
    event[rng.choice(len(time), 10, replace=False)] = True
    return time, event


def no_event(rng, time, z):
    return time, np.zeros(len(time), dtype=bool)


def censored_by_features(rng, time, z):
    event = rng.random(len(time)) < 1.0 / (1.0 + np.exp(2.0 * z))
    return time, event


CENSORING = (
    all_observed,
    half_censored,
    half_censored,
    end_of_study,
    nearly_all_censored,
    two_events,
    ten_events,
    no_event,
    censored_by_features,
)
WEIGHTS = ("no weights", "no weights", "no weights", "whole weights", "fractional weights")


def drawn(seed):
    """Return one data set: features, times, censoring, unit, weights and groups by themselves."""
    rng = np.random.default_rng(seed)

    def one_of(choices):
        return choices[rng.integers(len(choices))]

    n, make_features, make_times = one_of(SIZES), one_of(FEATURES), one_of(TIMES)
    censor, unit, weighting = one_of(CENSORING), one_of(UNITS), one_of(WEIGHTS)
    grouped, left = rng.random() < 0.2, rng.random() < 0.15
    X = make_features(rng, n)
    z = signal(X)
    time, event = censor(rng, make_times(rng, z), z)
    weight = {
        "no weights": None,
        "whole weights": rng.integers(0, 4, n).astype(float),
        "fractional weights": rng.uniform(0.1, 2.0, n),
    }[weighting]
    names = [make_features, make_times, censor]
    words = [each.__name__.replace("_", " ") for each in names]
    words += [f"{n} rows", f"unit {unit:g}", weighting]
    words += ["groups"] * grouped + ["left-censored"] * left
    return AwkwardData(
        ", ".join(words),
        X,
        unit * time,
        event,
        weight,
        rng.integers(0, max(2, n // 4), n) if grouped else None,
        "left" if left else "right",
    )


def awkward_data():
    """Return a strategy of data sets.

    Hypothesis prefers the first of the choices and repeats them, and forty sets would be of few
    kinds: it draws the seed alone.
    """
    return st.builds(drawn, st.integers(0, 2**40))
