"""Up to which level the data can speak, individual by individual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.quantiles._grid import check_levels

# A level differs from the reach by more than the rounding of its own computation.
_LEVEL_ROUNDING = 1e-12


class Reach:
    """What a curve knows of its own limits; the other half of `QuantileCurve`.

    The reach is kept apart from the distribution because predictions that do not ask for it should
    not pay for it: it may be given as a rule and is then computed once, when first asked for.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def with_reach(
        self, reach: ArrayLike | Callable[[Any], ArrayLike], *, lowest: bool = False
    ) -> Self:
        """Return the same curve with the level up to which the data speak, for each row."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        known = reach if callable(reach) else self._checked(reach)
        vars(twin).update(_reach=known, _reach_is_lowest=bool(lowest))
        return twin

    def _checked(self, reach: ArrayLike) -> Floats:
        levels = np.asarray(reach, dtype=np.float64)
        if levels.shape != (len(self),):
            raise ValueError(f"reach must have shape ({len(self)},), got {levels.shape}.")
        return levels

    @property
    def reach(self) -> Floats:
        """Highest level of each row that the data can speak for, shape (n_samples,).

        1 where nobody said otherwise.
        """
        known = vars(self).get("_reach")
        if known is None:
            return np.ones(len(self))
        if callable(known):
            known = self._checked(known(self))
            vars(self)["_reach"] = known
        levels: Floats = known
        return levels

    @property
    def reach_is_lowest(self) -> bool:
        """Whether `reach` is the lowest such level: the data speak for it and those above."""
        return bool(vars(self).get("_reach_is_lowest", False))

    def is_identified(self, levels: ArrayLike) -> NDArray[np.bool_]:
        """Whether the data can speak for levels."""
        asked, reach = np.atleast_1d(np.asarray(levels, dtype=np.float64)), self.reach[:, None]
        if self.reach_is_lowest:
            return np.asarray(asked >= reach - _LEVEL_ROUNDING)
        return np.asarray(asked <= reach + _LEVEL_ROUNDING)

    def identifies_all(self, levels: ArrayLike) -> bool:
        """Whether the data can speak for all levels of all rows."""
        asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        # For each row the level farthest out stands for all of them.
        if self.reach_is_lowest:
            return bool((asked.min(axis=-1) >= self.reach - _LEVEL_ROUNDING).all())
        return bool((asked.max(axis=-1) <= self.reach + _LEVEL_ROUNDING).all())

    def conditional_levels(self, elapsed: ArrayLike, levels: ArrayLike) -> Floats:
        """Levels, from the start, of quantiles of the remaining time."""
        now = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), (len(self),))[:, None]
        return self._conditional_levels(now, check_levels(levels))

    def _conditional_levels(self, now: Floats, wanted: Floats) -> Floats:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # A rule need not survive pickling; the values it gives do.
        return {**vars(self), **({"_reach": self.reach} if "_reach" in vars(self) else {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class _Curve(Protocol):
    @property
    def values(self) -> Floats: ...
    @property
    def taus(self) -> Floats: ...
    @property
    def is_whole(self) -> bool: ...
    def cdf(self, times: ArrayLike) -> Floats: ...


def reach_until(curve: _Curve, limit: ArrayLike, *, lowest: bool = False) -> Floats:
    """Level that each row's curve has at the time up to which rows like it were followed.

    A quantile is learned from individuals who were still under observation when it was reached, so
    a curve can be trusted up to the level of the last time at which there were some, and no
    further than its last fitted level.
    """
    last, end = np.asarray(limit, dtype=np.float64), curve.taus[0] if lowest else curve.taus[-1]
    if (last == (-np.inf if lowest else np.inf)).all():
        return np.full(len(last), end)
    if curve.is_whole:
        level = curve.cdf(last)
    else:  # nothing is known between the levels 0 and 1 but the one that was fitted
        known = last <= curve.values[:, 0] if lowest else last >= curve.values[:, 0]
        level = np.where(known, curve.taus[0], 1.0 if lowest else 0.0)
    return np.asarray(np.maximum(level, end) if lowest else np.minimum(level, end))
