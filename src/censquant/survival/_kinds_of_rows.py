"""The kinds of rows that a target can have, and who takes those that are not plain."""

from collections.abc import Sequence

READABLE = ("right", "interval", "delayed_entry", "competing")
"""Kinds of rows: one time of an event or of the end of follow-up; and what a row may have besides.

``"interval"`` is an event between two times (or before one), ``"delayed_entry"`` a row that was
not under observation from the start, ``"competing"`` an event of one of several kinds.
"""

OF_ONE_KIND = READABLE[:3]
"""Kinds of rows with events of one kind: with intervals and entries, but no competing risks."""

_BOTH = (
    "AFTRegressor",
    "ShapeNN",
    "LogNormalNN",
    "WeibullNN",
    "BoostedQuantileRegressor",
    "CensoredQuantileRegressor",
    "PooledQuantileRegressor",
)
TAKEN_BY: dict[str, tuple[str, ...]] = {
    "interval": _BOTH,
    "delayed_entry": (
        *_BOTH,
        "CensoredQuantileForest",
        "CompetingRisksRegressor",
        "CoxQuantileRegressor",
    ),
    "competing": ("CompetingRisksRegressor",),
}
"""Public names that take such rows, for messages.

A layer this low cannot ask them; a test compares it with what estimators declare in ``_accepts``.
"""

_WORDS = {
    "interval": "interval censoring",
    "delayed_entry": "delayed entry",
    "competing": "competing risks",
}
_OTHERWISE = {
    "interval": "give one time and one event for each row",
    "delayed_entry": "take the time since entry, with the entry as a feature",
    "competing": (
        "write event == 1 for the first cause, and rows with another cause count as censored, so "
        "that the predictions are those for that cause alone, as if the others did not occur"
    ),
}


def refusal(accepts: Sequence[str], kind: str, count: int, n_rows: int) -> str:
    """Return the sentence that refuses rows of a kind."""
    takers = " and ".join(filter(None, (", ".join(TAKEN_BY[kind][:-1]), *TAKEN_BY[kind][-1:])))
    only = f"only {takers} take{'s' * (len(TAKEN_BY[kind]) == 1)} such rows; otherwise "
    return (
        f"y must be a target of kind {' or '.join(map(repr, accepts))}, got one with "
        f"{_WORDS[kind]} in {count} of {n_rows} rows: {only * bool(takers)}{_OTHERWISE[kind]}."
    )
