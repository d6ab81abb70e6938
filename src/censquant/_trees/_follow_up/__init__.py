"""How long individuals like a given one were followed: a forest of censoring curves."""

from censquant._trees._follow_up._forest import FollowUp
from censquant._trees._follow_up._reach import ReachRule, followed, stored_follow_up

__all__ = [
    "FollowUp",
    "ReachRule",
    "followed",
    "stored_follow_up",
]
