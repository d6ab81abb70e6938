"""What a model file holds of an encoder."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from censquant._rows._encoder import MOST_LEVELS, CategoryRule, FrameEncoder, NumberRule, Rule
from censquant._storage._codec import Array, check_arrays
from censquant._storage._parts import Part, expect
from censquant.exceptions import ModelFileError

_CLASS = "FrameEncoder"
_LEFT_OUT, _CATEGORY = 0, 1
_NUMBER = {2: (True, False), 3: (False, True), 4: (True, True)}  # has_value, has_missing
_CODE = {flags: code for code, flags in _NUMBER.items()}


def encoder_part(encoder: FrameEncoder) -> Part:
    """Return the encoder as data; the names of the columns are those of its estimator.

    Its arrays have a code and a median per column. Levels are listed by the place of their column.
    """
    kinds = np.array([_kind(rule) for rule in encoder.rules], dtype=np.uint8)
    medians = [rule.median if isinstance(rule, NumberRule) else 0.0 for rule in encoder.rules]
    entries = {
        str(place): {
            "levels": list(rule.levels),
            "rare": rule.has_rare,
            "missing": rule.has_missing,
        }
        for place, rule in enumerate(encoder.rules)
        if isinstance(rule, CategoryRule)
    }
    said = []
    if (kinds >= min(_NUMBER)).any():
        said.append("median of each numeric feature and whether it had missing values")
    if entries:
        said.append("levels of each categorical feature (at most 30) and whether it had others")
    return Part(
        _CLASS,
        {},
        {"categories": entries},
        {"kinds": kinds, "medians": np.array(medians, dtype=np.float64)},
        contents=tuple(said),
    )


def restored_encoder(part: Part, names: Sequence[str]) -> FrameEncoder:
    """Return the encoder that :func:`encoder_part` made a part of."""
    if part.class_name != _CLASS or part.parameters or part.parts or not part.fitted:
        raise ModelFileError("holds something else in the place of its encoder of columns.")
    shape = (len(names),)
    check_arrays(part.arrays, {"kinds": Array("u1", shape), "medians": Array("f8", shape)})
    kinds = part.arrays["kinds"].tolist()
    medians = part.arrays["medians"].tolist()
    entries = dict(expect("categories", part.description["categories"], dict))
    if set(part.description) != {"categories"}:
        raise ModelFileError("describes more of its encoder of columns than there is.")
    rules: list[Rule | None] = []
    for place, (kind, median) in enumerate(zip(kinds, medians, strict=True)):
        if kind in _NUMBER:
            rules.append(NumberRule(median, *_NUMBER[kind]))
        elif kind == _CATEGORY:
            rules.append(_restored_category(entries.pop(str(place))))
        elif kind == _LEFT_OUT:
            rules.append(None)
        else:
            raise ModelFileError(f"has a column of an unknown kind: {kind}.")
    if entries:
        raise ModelFileError("has levels of columns that are not categories.")
    return FrameEncoder(tuple(names), tuple(rules))


def _kind(rule: Rule | None) -> int:
    if isinstance(rule, NumberRule):
        return _CODE[rule.has_value, rule.has_missing]
    return _LEFT_OUT if rule is None else _CATEGORY


def _restored_category(entry: Any) -> CategoryRule:
    if set(expect("categories", entry, dict)) != {"levels", "rare", "missing"}:
        raise ModelFileError("does not describe a category by its levels.")
    levels = [expect("level", level, str) for level in expect("levels", entry["levels"], list)]
    if len(levels) > MOST_LEVELS or any(a >= b for a, b in pairwise(levels)):
        raise ModelFileError(
            f"must hold at most {MOST_LEVELS} distinct and sorted levels of each category."
        )
    rule = CategoryRule(
        tuple(levels),
        expect("rare", entry["rare"], bool),
        expect("missing", entry["missing"], bool),
    )
    if not rule.names(""):
        raise ModelFileError("has a category without levels.")
    return rule
