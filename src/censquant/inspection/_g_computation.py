"""Means of a model's predictions with each value of a feature, and refits for their interval."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from censquant._files import content_digest, read_arrays, write_arrays
from censquant._rows._cross_fit import FitTask, cross_fit
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.adapters import survival_of
from censquant.adapters._libraries import accepts
from censquant.adapters._predictions import adapted_curve, final_model
from censquant.estimators._conformal_models import numbers_of
from censquant.exceptions import (
    CalibrationWarning,
    ExtrapolationWarning,
    FeatureWarning,
    FewEventsWarning,
)
from censquant.inspection._arms import (
    Arms,
    Estimate,
    Question,
    Refits,
    differences,
    ratios,
)

_SOME_LEVELS = (0.25, 0.5)  # any: of curves that are asked for their reach alone
_ROUNDING = 1e-6
_KIND = "contrast"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# Of refits, which the fitted model has shown already.
_SHOWN = (CalibrationWarning, ExtrapolationWarning, FeatureWarning, FewEventsWarning)


def g_computation(
    model: Any, rows: Arms, asked: Question, confidence: float, work: Refits
) -> Estimate:
    own = asked.of(model, rows)
    supported = _supported(model, rows, asked, own)
    draws = np.empty((0, *own.shape))
    if rows.has_target:
        _refuse_other_rows(model, rows)
        draws = _refitted(model, rows, asked, work)
    return Estimate(
        own,
        _percentiles(differences(draws), confidence),
        _percentiles(ratios(draws), confidence),
        supported,
        len(draws),
    )


def _refuse_other_rows(model: Any, rows: Arms) -> None:
    """Raise if the fit is known to have had other times: refits would be of other data."""
    known = getattr(final_model(model, None)[0], "follow_up_", None)
    if known is None:
        return
    time = rows.data.target.time
    own, fit = (float(time.min()), float(time.max())), (float(known[0]), float(known[-1]))
    if not np.allclose(own, fit, rtol=1e-6):
        raise ValueError(
            "X and y must be the rows that the model was fitted to, since method='bootstrap' fits "
            f"it again to draws of them: the fit had times from {fit[0]:g} to {fit[1]:g}, got "
            f"{own[0]:g} to {own[1]:g}. Leave out y for no interval, or use "
            "method='doubly_robust'."
        )


def _refitted(model: Any, rows: Arms, asked: Question, work: Refits) -> Floats:
    """Return the quantity of refits to draws of the units, shape (n_draws, 2, n_labels, k)."""
    unit, template = rows.units(), work.template(model)
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    if len(members) < 2:
        given = f"{len(rows)} row" if rows.data.groups is None else "1 group"
        raise ValueError(
            "X must have two rows or more, and groups two groups or more, since what differs "
            f"between draws of them is what an interval is made of, got {given}: leave out y for "
            "no interval."
        )
    seeds = seed_sequence(work.random_state).spawn(work.n_resamples + 1)[1:]
    draws = np.full((work.n_resamples, 2, len(rows.labels), len(asked.at)), np.nan)
    saved = _Saved.open(work.checkpoint, lambda: _digest(model, rows, asked, seeds[0]), draws)
    lock, both = threading.Lock(), rows.is_discrete
    takes_groups = rows.data.groups is not None and accepts(template.fit, "groups")

    def task_of(draw: int, step: Callable[[], None]) -> FitTask:
        fit_seed, row_seed = seeds[draw].spawn(2)

        def fit(copy: Any) -> None:
            drawn = np.random.default_rng(row_seed).integers(len(members), size=len(members))
            part = rows.take(np.concatenate([members[one] for one in drawn]))
            if both and (np.bincount(part.arm, minlength=2)[:2] == 0).any():
                raise ValueError("a draw has no row with one of the values")
            options = {"groups": part.data.groups} if takes_groups else {}
            target = part.data.target
            copy.fit(part.data.x, (target.time, target.event), **options)
            found = asked.of(copy, part)
            with lock:
                draws[draw] = found

        def done() -> None:
            with lock:
                saved.add(draw)
            step()

        return FitTask(
            template,
            int(fit_seed.generate_state(1)[0]),
            rows.data,
            np.empty(0, dtype=np.intp),
            _no_prediction,
            tolerated=(ValueError, ArithmeticError),
            keep_model=False,
            fit_folds=fit,
            on_done=done,
        )

    left = [draw for draw in range(work.n_resamples) if not saved.done[draw]]
    with work.bar("refits", work.n_resamples) as step, saved.kept(), warnings.catch_warnings():
        for category in _SHOWN:
            warnings.simplefilter("ignore", category)
        for _ in range(work.n_resamples - len(left)):
            step()
        results = cross_fit([task_of(draw, step) for draw in left], work.n_jobs)
    defined = draws[~np.isnan(draws[:, :, 0]).any(axis=(1, 2))]
    if len(defined) < max(2, work.n_resamples // 2):
        reasons = [result.failure for result in results if result.failure]
        raise ValueError(
            "model must be able to be fitted to most draws of the rows, got no result for "
            f"{work.n_resamples - len(defined)} of {work.n_resamples}"
            + (f" ({reasons[0].rstrip('.')})." if reasons else ".")
        )
    return np.asarray(defined)


def _no_prediction(model: Any, rows: FitData, stopping: threading.Event) -> None:
    """Stand for what is not asked for: refits predict their own rows."""


class _Saved:
    """Finished refits, in a file if there is one."""

    def __init__(self, path: Path | None, digest: str, draws: Floats) -> None:
        self.path, self.digest, self.draws = path, digest, draws
        self.done = np.zeros(len(draws), dtype=bool)

    @classmethod
    def open(cls, path: Any, digest: Callable[[], str], draws: Floats) -> _Saved:
        if path is None:
            return cls(None, "", draws)
        saved = cls(Path(path), digest(), draws)
        if saved.path is not None and saved.path.exists():
            header, arrays = read_arrays(saved.path, _KIND)
            if header.get("contrast") != saved.digest:
                raise ValueError(
                    f"checkpoint must be a file of the same contrast, got {str(path)!r}, which was "
                    "made with other data, another model or other settings: name another file."
                )
            n_kept = min(len(draws), len(arrays["done"]))
            saved.done[:n_kept] = arrays["done"][:n_kept]
            draws[:n_kept] = arrays["draws"][:n_kept]
        return saved

    def add(self, draw: int) -> None:
        self.done[draw] = True
        # Refits that take seconds are kept one by one, fast ones a few at a time.
        if self.path is not None and self.done.sum() % 10 == 0:
            self._write()

    def _write(self) -> None:
        if self.path is not None:
            arrays = {"done": self.done, "draws": self.draws}
            write_arrays(self.path, _KIND, {"contrast": self.digest}, arrays)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write what is finished, also where the block is interrupted."""
        try:
            yield
        finally:
            self._write()


def _digest(model: Any, rows: Arms, asked: Question, seed: np.random.SeedSequence) -> str:
    """Return what two calls share whose refits are the same."""
    final = final_model(model, None)[0]
    settings: Any = getattr(final, "get_params", dict)()
    text = repr((type(final).__name__, settings, rows.name, rows.values, rows.labels, asked.what,
                 seed.entropy))  # fmt: skip
    arrays = {
        "x": numbers_of(rows.data.x),
        "time": rows.data.target.time,
        "event": rows.data.target.event,
        "unit": rows.units().astype(np.int64),
        "member": rows.member,
        "at": asked.at,
    }
    return content_digest(_ADDRESS.sub("", text), arrays)


def _percentiles(draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return both ends; a draw without a value could lie anywhere."""
    if not len(draws):
        nothing = np.full(draws.shape[1:], np.nan)
        return nothing, nothing
    ends = []
    for level, anywhere in ((1.0 - confidence) / 2.0, -np.inf), ((1.0 + confidence) / 2.0, np.inf):
        known = np.where(np.isnan(draws), anywhere, draws)
        # Between two draws of which one is infinite there is no value: the outer one is taken.
        method: Any = "linear"
        if not np.isfinite(known).all():
            method = "lower" if anywhere < 0 else "higher"
        ends.append(np.asarray(np.quantile(known, level, axis=0, method=method)))
    return ends[0], ends[1]


def _supported(model: Any, rows: Arms, asked: Question, own: Floats) -> Floats:
    """Return the shares of rows whose curves follow-up supports, (n_labels, k), the lower arm."""
    shares = np.ones((2, *own.shape[1:]))
    for place, arm in enumerate(rows.arms):
        reach = adapted_curve(model, arm.X, _SOME_LEVELS)[1]
        if reach is None:
            continue
        times = np.broadcast_to(asked.at, own.shape[1:])
        if asked.is_quantile:
            times = own[place]
        distinct, which = np.unique(np.where(np.isfinite(times), times, 0.0), return_inverse=True)
        known = 1.0 - survival_of(model, arm.X, distinct) <= reach[:, None] + _ROUNDING
        among = rows.member.T @ known / np.maximum(rows.member.sum(axis=0), 1.0)[:, None]
        own_share = np.take_along_axis(among, which.reshape(times.shape), axis=1)
        shares[place] = np.where(np.isfinite(times), own_share, 0.0)
    return np.asarray(shares.min(axis=0))
