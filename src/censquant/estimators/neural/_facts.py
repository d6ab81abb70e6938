"""What a fitted network keeps of its data besides what it learned."""

from dataclasses import dataclass
from typing import Self

from censquant._rows._fit_data import default_times
from censquant._typing import Floats
from censquant.estimators.neural._preparation import FeatureScale
from censquant.survival import Target
from censquant.survival._kaplan_meier import default_horizon
from censquant.survival._transform import TimeTransform


@dataclass(frozen=True, eq=False)
class DataFacts:
    """Units and ranges of the data.

    Parameters
    ----------
    transform : TimeTransform
    scale : FeatureScale
    feature_range : ndarray of shape (2, n_features), or None for samples of another shape
    follow_up : tuple of float
        Smallest and largest time.
    horizon : float
    unique_times : ndarray
    """

    transform: TimeTransform
    scale: FeatureScale
    feature_range: Floats | None
    follow_up: tuple[float, float]
    horizon: float
    unique_times: Floats

    @classmethod
    def of(
        cls,
        target: Target,
        weight: Floats,
        transform: TimeTransform,
        scale: FeatureScale,
        feature_range: Floats | None,
        *,
        left: bool,
    ) -> Self:
        """Take them from all rows, or from a sample with the same smallest and largest time."""
        return cls(
            transform,
            scale,
            feature_range,
            (float(target.time.min()), float(target.time.max())),
            default_horizon(target.time, weight, left=left),
            default_times(target.time[target.event]),
        )
