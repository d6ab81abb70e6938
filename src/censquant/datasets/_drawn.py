"""What is known of every synthetic data set before a row of it is drawn."""

from __future__ import annotations

from censquant.datasets._info import DatasetInfo
from censquant.datasets._recipes import CENSORING_4D, CENSORING_8D, RECIPES

_NORM_4D = (
    "Normal times with a curved mean of four features: the target is N(3 x0 + x1^2 - x2^2 + "
    "sin(x2 x3) + offset, 1), and the censoring time is {}."
)
_LOGNORM_8D = (
    "Log-normal times, linear in eight features on the log scale: ten times the target has a "
    "logarithm with mean 0.8 x0 + 0.6 x1 + 0.4 x2 + 0.5 x3 - 0.3 x4 + 0.2 x5 - 0.7 x7 and "
    "standard deviation 1, and the censoring time is {}."
)


def _end(high: float | None) -> str:
    return "distributed as the target" if high is None else f"uniform on (0, {high:g})"


def _drawn(
    name: str, title: str, n_samples: int, censored_share: float, description: str
) -> DatasetInfo:
    return DatasetInfo(
        name,
        title,
        "synthetic",
        n_samples,
        RECIPES[title].n_features,
        censored_share,
        f"{description} Features are uniform on (0, 2), and the true quantiles are known.",
        "Pearce et al. (2022), NeurIPS 35",
        "drawn anew, no terms",
    )


# Shares are integrals over both laws; those of `_NORM_4D` are at the mean of the drawn offsets.
_SHARES_4D = {"heavy": 0.80, "medium": 0.49, "light": 0.25, "same": 0.5}
_SHARES_8D = {"heavy": 0.75, "medium": 0.53, "light": 0.24, "same": 0.5}

_ALL = (
    _drawn(
        "norm_linear",
        "Norm linear",
        500,
        0.23,
        "Normal times, mean and spread linear in one feature: the target is N(2x + 10, (x + 1)^2) "
        "and the censoring time N(4x + 10, (0.8x + 0.4)^2).",
    ),
    _drawn(
        "norm_nonlinear",
        "Norm non-linear",
        500,
        0.27,
        "Normal times, a wave in the mean and growing spread: the target is "
        "N(x sin(2x) + 10, (0.5x + 0.5)^2) and the censoring time N(2x + 10, 2^2).",
    ),
    _drawn(
        "exponential",
        "Exponential",
        500,
        0.34,
        "Exponential times, the mean linear in one feature: 2x + 4 for the target and 15 - 3x for "
        "the censoring time.",
    ),
    _drawn(
        "weibull",
        "Weibull",
        500,
        0.23,
        "Weibull times of shape 5 with a wave in their scale: 4x sin(2(x - 1)) + 10 for the target "
        "and 20 - 3x for the censoring time.",
    ),
    _drawn(
        "lognorm",
        "LogNorm",
        500,
        0.22,
        "Log-normal times, skewed and heavy-tailed: the logarithm of the target is "
        "N((x - 1)^2, 1) and the censoring time uniform on (0, 10).",
    ),
    _drawn(
        "norm_uniform",
        "Norm uniform",
        500,
        0.66,
        "Normal times under heavy and early censoring: the target is "
        "N(2x cos(2x) + 13, (x^2 + 0.5)^2), at least 0.1, and the censoring time uniform on "
        "(0, 18).",
    ),
    *(
        _drawn(f"norm_{kind}", f"Norm {kind}", 2000, _SHARES_4D[kind], _NORM_4D.format(_end(high)))
        for kind, high in CENSORING_4D.items()
    ),
    *(
        _drawn(
            f"lognorm_{kind}",
            f"LogNorm {kind}",
            4000,
            _SHARES_8D[kind],
            _LOGNORM_8D.format(_end(high)),
        )
        for kind, high in CENSORING_8D.items()
    ),
)

SYNTHETIC: dict[str, DatasetInfo] = {info.title: info for info in _ALL}
"""Synthetic data sets by their name in the paper, as the published numbers were made."""

PRINTED_NOTES: dict[str, str] = {
    "LogNorm": "Drawn as printed instead: the logarithm has standard deviation x^2.",
    "Norm uniform": "Drawn as printed instead: the target has no lower end.",
    **{
        f"Norm {kind}": "Drawn as printed instead: the mean has 2 sin(x2 x3), and the standard "
        "deviation is x0^2 + 0.5."
        for kind in CENSORING_4D
    },
}
"""What a description adds to itself where rows follow a printed law that differs."""
