"""Losses as compiled kernels: each returns its value and writes its gradient by the predictions."""

from censquant._engine.losses._bounds import bound_outputs, limit_rows
from censquant._engine.losses._calibration import (
    CALIBRATION_BINS,
    CALIBRATION_SHARPNESS,
    calibration_penalty,
)
from censquant._engine.losses._crossing import add_crossing_penalty
from censquant._engine.losses._crps import LARGEST_SPREAD, log_time_crps
from censquant._engine.losses._family_levels import asymmetric_laplace_levels, location_scale_levels
from censquant._engine.losses._laplace_crps import asymmetric_laplace_crps
from censquant._engine.losses._likelihood import (
    LARGEST_LOG,
    SMALLEST_SCALE,
    asymmetric_laplace,
    location_scale,
)
from censquant._engine.losses._marginal import MarginalPinball
from censquant._engine.losses._pinball import pinball
from censquant._engine.losses._portnoy import LEVEL_RULES, levels_of, portnoy
from censquant._engine.losses._powell import powell
from censquant._engine.losses._shape import shape_log_likelihood, shape_loss
from censquant._engine.losses._standard import GUMBEL, MIRRORED_GUMBEL, NORMAL, standard_loss
from censquant._engine.losses._tobit_laplace import tobit_laplace

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
    "levels_of",
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
