"""Maps between times in the user's unit and in model units."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.survival._columns import quoted, read_weights
from censquant.survival._target import GeneralTarget, Target, read_columns

if TYPE_CHECKING:
    from censquant.export._graph import Value

_SMALLEST = float(np.finfo(np.float64).tiny)
LARGEST_LOG = 700.0
"""Largest logarithm of a time: exp of it is 1e304, far above any time, and finite in float64."""

# A standard deviation below this share of the largest time is rounding of equal times.
_NO_SPREAD = 1e-14
_SCALE_OF_EQUALS = 0.01  # relative to times that do not differ
_NO_SPREAD_IN_UNITS = 1e-9  # of values whose standard deviation is 1 if they differ at all
_MOST_ROUNDS = 60
_CONVERGED = 1e-9
# Censored values are grouped into so many: sixty rounds of a million would outlast a training.
_MOST_GROUPS = 2_000
# Of the plain standard deviation. Where all events agree and the others were censored before them,
# the likelihood would have no spread at all.
_NARROWEST = 1e-3


@dataclass(frozen=True)
class TimeTransform:
    r"""Increasing or, if mirrored, decreasing map between times and model units.

    .. math:: z = \pm (u - \mathrm{center}) / \mathrm{scale}, \quad
              u = t \text{ or } \log \max(t, \mathrm{floor})

    Quantiles are equivariant under increasing maps, so a method may fit in suitable units and
    predict in the user's. Mirroring turns left censoring into right censoring.

    Parameters
    ----------
    log : bool, default=False
        Whether to take the logarithm first.
    floor : float in [0, inf), default=0.0
        Smaller times are replaced by it before the logarithm; not used without one.
    center, scale : float, default=0.0 and 1.0
        What is subtracted, and what is then divided by; ``scale`` is positive.
    mirror : bool, default=False
        Whether to negate, as the last step.
    """

    log: bool = False
    floor: float = 0.0
    center: float = 0.0
    scale: float = 1.0
    mirror: bool = False

    def __post_init__(self) -> None:
        for name in ("log", "mirror"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, got {value!r}.")
        for name in ("floor", "center", "scale"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number, got {value!r}.")
            if not np.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value!r}.")
        if self.floor < 0:
            raise ValueError(f"floor must not be negative, got {self.floor!r}.")
        if self.scale <= 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}.")

    @classmethod
    def fit(
        cls,
        time: ArrayLike,
        event: ArrayLike,
        kind: str | None,
        *,
        mirror: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> "TimeTransform":
        """Transform whose constants come from the given rows.

        Standardising makes a fit independent of the unit of time. The logarithm does too, and
        gives early and late times the same relative precision; it needs times that are not
        negative.
        """
        if kind not in (None, "standardize", "log", "tobit", "log-tobit"):
            raise ValueError(
                "time_transform must be None, 'standardize', 'log', 'tobit' or 'log-tobit', "
                f"got {kind!r}."
            )
        target = read_columns(time, event)
        weights = read_weights(sample_weight, len(target))
        if kind is None:
            return cls(mirror=mirror)
        if not weights.all():
            target, weights = target.take(weights > 0), weights[weights > 0]
        log, values, floor = kind.startswith("log"), target.time, 0.0
        if log:
            lowest = values.min()
            if lowest < 0:
                other = "tobit" if kind == "log-tobit" else "standardize"
                raise ValueError(
                    f"time must not be negative for time_transform={kind!r}, got a minimum of "
                    f"{lowest:g}: use time_transform={other!r}."
                )
            floor = _log_floor(values, target.event)
            values = np.log(np.maximum(values, floor))
        center, scale = _spread(values, weights, log=log)
        if kind.endswith("tobit"):
            center, scale = _censored_spread(
                values, target.event, weights, center, scale, mirror=mirror
            )
        return cls(log=log, floor=floor, center=center, scale=scale, mirror=mirror)

    def reaching(self, target: Target) -> "TimeTransform":
        """Transform that tells all ends of intervals and entries of a target apart."""
        if not self.log or not isinstance(target, GeneralTarget):
            return self
        ends = np.concatenate((target.time, target.lower, target.entry))
        smallest = float(ends[ends > 0].min(initial=np.inf))
        return replace(self, floor=min(self.floor, max(smallest / 2, _SMALLEST)))

    def forward(self, time: ArrayLike) -> Floats:
        """Values of times in model units."""
        u = np.asarray(time, dtype=np.float64)
        if self.log:
            if self.floor == 0 and np.any(u <= 0):
                raise ValueError(
                    f"time must be positive for a logarithm with floor 0, got {u.min():g}."
                )
            u = np.log(np.maximum(u, self.floor))
        z = (u - self.center) / self.scale
        return -z if self.mirror else z

    def inverse(self, z: ArrayLike) -> Floats:
        """Values in model units as times.

        The exact inverse of `forward` for times at or above the floor. A value too large for
        the exponential gives a huge finite time, never infinity.
        """
        values = np.asarray(z, dtype=np.float64)
        with np.errstate(over="ignore"):
            u = (-values if self.mirror else values) * self.scale + self.center
        return np.exp(np.minimum(u, LARGEST_LOG)) if self.log else u

    def graph_inverse(self, z: "Value") -> "Value":
        """Return the operations of `inverse` in a graph."""
        u = (-z if self.mirror else z) * self.scale + self.center
        return u.minimum(LARGEST_LOG).exp() if self.log else u

    def log_slope(self, time: ArrayLike) -> Floats:
        """Logarithms of the absolute derivatives of `forward`.

        The logarithm of a density in model units plus this is the one in the user's unit. Times
        below the floor have that of the floor.
        """
        u = np.asarray(time, dtype=np.float64)
        by_log = np.log(np.maximum(u, self.floor)) if self.log else np.zeros_like(u)
        return np.asarray(-np.log(self.scale) - by_log)

    def levels(self, taus: Floats) -> Floats:
        """Levels in model units: mirrored times have mirrored levels."""
        return 1.0 - taus[::-1] if self.mirror else taus

    def to_dict(self) -> dict[str, bool | float]:
        """Parameters as plain values, suitable for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TimeTransform":
        """Transform from what `to_dict` gave."""
        names = [field.name for field in fields(cls)]
        if set(values) != set(names):
            raise ValueError(
                f"A time transform must have the keys {quoted(names)}, got {quoted(values)}."
            )
        return cls(**values)


def _spread(values: Floats, weights: Floats, *, log: bool) -> tuple[float, float]:
    """Weighted mean and standard deviation.

    Where values do not differ, the deviation is 1 for logarithms and for zeros, else a hundredth of
    the values: small beside them in every unit.
    """
    # Relative to the largest value, so that no square can overflow, whatever the unit.
    peak = float(np.abs(values).max()) or 1.0
    shares = weights / weights.sum()
    relative = values / peak
    mean = float(shares @ relative)
    deviation = float(np.sqrt(shares @ (relative - mean) ** 2))
    if deviation <= _NO_SPREAD:
        deviation = 0.0 if log or not values.any() else _SCALE_OF_EQUALS
    scale = deviation * peak
    return mean * peak, scale if scale > _SMALLEST else 1.0


def _censored_spread(
    values: Floats,
    event: NDArray[np.bool_],
    weights: Floats,
    center: float,
    scale: float,
    *,
    mirror: bool,
) -> tuple[float, float]:
    """Mean and standard deviation of events, given those of all values."""
    z = (values - center) / scale
    if np.ptp(z) < _NO_SPREAD_IN_UNITS:
        return center, scale
    side = -1.0 if mirror else 1.0
    mean, deviation = _censored_normal(side * z, event, weights)
    return center + side * mean * scale, deviation * scale


def _log_floor(time: Floats, event: NDArray[np.bool_]) -> float:
    """Half the smallest positive time of an event, or of any row if no event has one."""
    for times in (time[event & (time > 0)], time[time > 0]):
        if times.size:
            return max(float(times.min()) / 2, _SMALLEST)
    return 1.0


def _censored_normal(z: Floats, event: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Return maximum-likelihood mean and standard deviation of right-censored normal values.

    Found by expectation and maximisation (Tobit's model without features). It ends after sixty
    rounds: where nearly all values are censored the maximum may lie far from any of them.
    """
    from scipy.special import log_ndtr  # slow to import, and no other part of a target needs it

    shares = weights / weights.sum()
    known, seen = shares[event], z[event]
    sums = [float(known @ seen**power) for power in range(3)]
    limit, share = _grouped(z[~event], shares[~event])
    mean, deviation = 0.0, 1.0
    for _ in range(_MOST_ROUNDS):
        place = (limit - mean) / deviation
        hazard = np.exp(-0.5 * place**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(-place))
        # Moments of normal values beyond their limits.
        expected = mean + deviation * hazard
        variance = deviation**2 * np.maximum(1.0 + place * hazard - hazard**2, 0.0)
        before = mean, deviation
        mean = sums[1] + float(share @ expected)
        square = sums[2] - 2.0 * mean * sums[1] + mean**2 * sums[0]
        square += float(share @ ((expected - mean) ** 2 + variance))
        deviation = max(math.sqrt(max(square, 0.0)), _NARROWEST)
        if max(abs(mean - before[0]), abs(deviation - before[1])) < _CONVERGED:
            break
    return mean, deviation


def _grouped(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return at most some thousand values, each the mean of neighbours, and their shares."""
    if len(values) <= _MOST_GROUPS:
        return values, shares
    order = np.argsort(values, kind="stable")
    starts = np.linspace(0, len(values), _MOST_GROUPS, endpoint=False).astype(np.intp)
    together = np.add.reduceat(shares[order], starts)
    return np.add.reduceat((values * shares)[order], starts) / together, together
