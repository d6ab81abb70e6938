"""How long individuals like a given one were followed: a forest of censoring curves."""

from censquant._trees._follow_up._forest import FollowUp
from censquant._trees._follow_up._reach import ReachRule, followed
from censquant._trees._follow_up._state import FEATURES, restore_features

__all__ = [
    "FEATURES",
    "FollowUp",
    "ReachRule",
    "followed",
    "restore_features",
]
