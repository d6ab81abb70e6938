"""Whether every candidate of the recommended estimator earns its place.

All candidates are fitted once per data set and seed; subsets of them are then pooled by the same
rule, and each pool is scored on the test rows. Seeds and iterations are those of development.

    CENSQUANT_DATA=... python bench/scripts/ablation.py --kind field synthetic overlay survival
"""

import argparse
import copy
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from censquant import (
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    CoxQuantileRegressor,
)
from censquant.estimators.ensemble import _candidates as cross_fit
from censquant.estimators.ensemble import _pool as pool_model
from censquant.estimators.ensemble import _recommended as defaults
from censquant.estimators.ensemble._mixture import Mixture
from censquant.estimators.ensemble._weights import LikelihoodPrior
from censquant_bench import DATASET_GROUPS, BenchmarkCell, get_dataset, get_method
from censquant_bench import _cells as cells
from censquant_bench.field import FIELD_SUITE

SEEDS = {
    "synthetic": (300, 301, 302),
    "overlay": (301,),
    "survival": (301, 302),
    "field": (4, 5, 6),
}
MAIN = (
    "hazards",
    "normal",
    "log-normal",
    "weibull",
    "bounded",
    "boosting",
    "deep boosting",
    "forest",
)
EXTRA = ("smooth forest", "light hazards")
SCORES = ("tqmse", "uql", "cindex", "cindex_restricted_mean", "pinball", "pit_deviation", "isbs")


def more_candidates(target: Any, n_features: int, censoring: str) -> list[tuple[str, Any]]:
    """Return the default candidates and those that did not make it."""
    candidates = defaults.default_candidates(target, n_features, censoring)
    candidates += [
        ("smooth forest", CensoredQuantileForest(min_samples_leaf=20)),
        ("light hazards", CoxQuantileRegressor(penalty=0.01)),
    ]
    return candidates


@dataclass(frozen=True)
class Setting:
    """A way to pool: which candidates, and by which rule."""

    names: tuple[str, ...]
    prior: Any = defaults.DEFAULT_PRIOR
    equal: bool = False
    pulled_in: bool = True


def settings() -> dict[str, Setting]:
    """Return what is compared."""
    compared = {"default": Setting(MAIN)}
    for name in MAIN:
        compared[f"without {name}"] = Setting(tuple(each for each in MAIN if each != name))
    for name in EXTRA:
        compared[f"with {name}"] = Setting((*MAIN, name))
    compared["with all"] = Setting((*MAIN, *EXTRA))
    compared["flat prior"] = Setting(MAIN, LikelihoodPrior(mass=0.3, temperature=1e-9, others=0.1))
    compared["equal weights"] = Setting(MAIN, equal=True)
    compared["tails not pulled in"] = Setting(MAIN, pulled_in=False)
    return compared


class Recorded:
    """What the weights of a fit were computed from."""

    def __call__(self, kept: Any, prior: Any, *rest: Any) -> Mixture:
        """Note the arguments and give every candidate the same weight, so that all are kept."""
        self.kept, self.rest = kept, rest
        *_, bounds, _ = rest
        share = np.full(len(kept), 1.0 / len(kept))
        whole = np.array([each.is_whole for each in kept])
        return Mixture(share, whole / max(whole.sum(), 1), bounds)

    def pool(self, fitted: Any, setting: Setting, weigh: Any) -> Any:
        """Return the fitted estimator with other weights."""
        kept = [each for each in self.kept if each.name in setting.names]
        mixture = weigh(kept, setting.prior, *self.rest)
        if setting.equal:
            mixture = replace(mixture, weights=np.full(len(kept), 1.0 / len(kept)))
        if not setting.pulled_in:
            free = replace(mixture.bounds, low=-np.inf, high=np.inf)
            mixture = replace(mixture, bounds=free)
        model = copy.copy(fitted)
        used = mixture.used
        model._mixture = mixture.among(used)
        model.estimators_ = {
            each.name: fitted.estimators_[each.name]
            for each, needed in zip(kept, used, strict=True)
            if needed
        }
        return model


def planned(kinds: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, BenchmarkCell]]:
    """Give the cells of some kinds of data sets."""
    method = get_method("recommended")
    for kind in kinds:
        group = "field-development" if kind == "field" else kind
        for dataset in map(get_dataset, DATASET_GROUPS[group]):
            if dataset.heavy or (names and dataset.name not in names):
                continue
            seeds = tuple(
                s for s in SEEDS[kind] if dataset.most_runs is None or s <= dataset.most_runs
            )
            split = "grouped" if kind == "survival" and "grouped" in dataset.splits else "random"
            options = {"conventions": FIELD_SUITE.conventions} if kind == "field" else {}
            yield kind, BenchmarkCell("ablation", dataset, method, split, seeds=seeds, **options)


def run_one(cell: BenchmarkCell, seed: int, n_jobs: int) -> Iterator[dict[str, Any]]:
    """Fit all candidates, then score every way to pool them."""
    weigh, recorded = pool_model._weigh, Recorded()
    data = cell.train_test(seed)
    model = CensoredQuantileRegressor(cell.dataset.taus, random_state=seed, n_jobs=n_jobs)
    X, y = cells._as_given(cell, model, data)[0], data.y
    extra = {} if data.groups is None else {"groups": data.groups}
    with (
        mock.patch.object(pool_model, "_weigh", recorded),
        mock.patch.object(cross_fit.CrossFit, "_race", lambda self, candidates: candidates),
        mock.patch(
            "censquant.estimators.ensemble._recommended.default_candidates",
            side_effect=more_candidates,
        ),
    ):
        model.fit(X, y, **extra)
    for label, setting in settings().items():
        pooled = recorded.pool(model, setting, weigh)
        fit = cells._Fit(pooled, np.asarray(cell.dataset.taus), len(y), 0.0, None)
        row = cells._scored(cell, data, fit)
        yield {"setting": label, **{name: row[name] for name in SCORES if name in row}}


def main() -> None:
    """Write one line per data set, seed and setting; lines that are there are not made again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", nargs="+", default=list(SEEDS))
    parser.add_argument("--datasets", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path("ablation.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if asked.out.exists():
        lines = [json.loads(line) for line in asked.out.read_text().splitlines()]
        done = {(line["dataset"], line["seed"]) for line in lines}
    for kind, cell in planned(asked.kind, asked.datasets):
        for seed in cell.seeds:
            if (cell.dataset.name, seed) in done:
                continue
            start = time.perf_counter()
            rows = list(run_one(cell, seed, asked.jobs))
            with asked.out.open("a") as file:
                for row in rows:
                    key = {"kind": kind, "dataset": cell.dataset.name, "seed": seed}
                    file.write(json.dumps({**key, **row}) + "\n")
            seconds = time.perf_counter() - start
            sys.stderr.write(f"{cell.dataset.name} {seed}: {seconds:.0f} s\n")


if __name__ == "__main__":
    main()
