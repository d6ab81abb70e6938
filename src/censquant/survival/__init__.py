"""Censored times: one reader of targets, Kaplan-Meier curves, censoring weights, transforms."""

from censquant.survival._censoring import (
    follow_up_limit,
    inverse_censoring_weights,
    read_censoring_times,
)
from censquant.survival._columns import as_array, read_numbers, read_weights, refuse_nan
from censquant.survival._horizon import default_horizon
from censquant.survival._kaplan_meier import (
    KaplanMeier,
    censoring_kaplan_meier,
    kaplan_meier,
)
from censquant.survival._surv import Surv
from censquant.survival._target import (
    Target,
    read_columns,
    read_target,
    require_durations,
    require_events,
)
from censquant.survival._transform import TimeTransform

__all__ = [
    "KaplanMeier",
    "Surv",
    "Target",
    "TimeTransform",
    "as_array",
    "censoring_kaplan_meier",
    "default_horizon",
    "follow_up_limit",
    "inverse_censoring_weights",
    "kaplan_meier",
    "read_censoring_times",
    "read_columns",
    "read_numbers",
    "read_target",
    "read_weights",
    "refuse_nan",
    "require_durations",
    "require_events",
]
