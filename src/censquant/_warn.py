"""Warnings that are shown once per place, as Python means to."""

import sys
import warnings

_shown: set[tuple[str, int, str]] = set()


def warn_once(message: str, category: type[Warning], *, stacklevel: int) -> None:
    """Warn, but not again of the same thing at the same line where the filter says so.

    Python forgets what it has shown whenever any library touches the filters for a moment, as
    scikit-learn does in every check of an array: a loop would repeat the warning in each turn.
    Filters that ask for every warning, or for errors, get every one.
    """
    frame = sys._getframe(stacklevel)
    place = (frame.f_code.co_filename, frame.f_lineno, message)
    action = _action(message, category, frame.f_globals.get("__name__", ""), frame.f_lineno)
    if action in ("default", "module", "once") and place in _shown:
        return
    _shown.add(place)
    warnings.warn(message, category, stacklevel=stacklevel + 1)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as :func:`warn_once` does, at the line outside of this package that led here."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warn_once(message, category, stacklevel=level + 1)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _action(message: str, category: type[Warning], module: str, line: int) -> str:
    """Return what the first filter that applies says."""
    for action, text, kind, where, number in warnings.filters:
        if (
            (text is None or _matches(text, message))
            and issubclass(category, kind)
            and (where is None or _matches(where, module))
            and number in (0, line)
        ):
            return action
    return "default"


def _matches(pattern: object, text: str) -> bool:
    """Whether a filter's pattern, compiled or a plain string, applies."""
    match = getattr(pattern, "match", None)
    return bool(match(text)) if match is not None else pattern == text
