"""Losses as compiled kernels: each returns its value and writes its gradient by the predictions."""

from censquant._engine._families import GUMBEL, MIRRORED_GUMBEL, NORMAL, standard_loss
from censquant._engine.losses._crps import LARGEST_SPREAD, asymmetric_laplace_crps, log_time_crps
from censquant._engine.losses._grid import (
    LEVEL_RULES,
    MarginalPinball,
    add_crossing_penalty,
    estimate_levels,
    pinball,
    portnoy,
    powell,
    tobit_laplace,
)
from censquant._engine.losses._likelihoods import (
    CALIBRATION_BINS,
    CALIBRATION_SHARPNESS,
    LARGEST_LOG,
    SMALLEST_SCALE,
    asymmetric_laplace,
    asymmetric_laplace_levels,
    bound_outputs,
    calibration_penalty,
    limit_rows,
    location_scale,
    location_scale_levels,
)
from censquant._engine.losses._shape import shape_log_likelihood, shape_loss

__all__ = [
    "CALIBRATION_BINS",
    "CALIBRATION_SHARPNESS",
    "GUMBEL",
    "LARGEST_LOG",
    "LARGEST_SPREAD",
    "LEVEL_RULES",
    "MIRRORED_GUMBEL",
    "NORMAL",
    "SMALLEST_SCALE",
    "MarginalPinball",
    "add_crossing_penalty",
    "asymmetric_laplace",
    "asymmetric_laplace_crps",
    "asymmetric_laplace_levels",
    "bound_outputs",
    "calibration_penalty",
    "estimate_levels",
    "limit_rows",
    "location_scale",
    "location_scale_levels",
    "log_time_crps",
    "pinball",
    "portnoy",
    "powell",
    "shape_log_likelihood",
    "shape_loss",
    "standard_loss",
    "tobit_laplace",
]
