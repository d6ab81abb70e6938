"""How the text of a table is read, and the error of one that needs more options."""

import codecs
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Around the name of an option inside a text; neither is a character of any language.
_OPEN, _CLOSE = "\ue000", "\ue001"
_OPTION = re.compile(f"{_OPEN}(.*?){_CLOSE}")

# What pandas takes for a missing value, so that a file means the same to both.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
THOUSANDS = (".", ",", " ", "'")
# Half a page that every text encoding can hold.
_SAMPLE = "days,failed\n1,0\n"


def option(name: str) -> str:
    """Mark an option's name in a :class:`TableError`; the command shows it as --name."""
    return f"{_OPEN}{name}{_CLOSE}"


class TableError(ValueError):
    """A table that cannot be read as it is, with the options that would help.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop.
    options : sequence of (str, str), default ()
        Names and values of options, each of which would help.
    remedy : str, default ""
        What else would help, in words.
    about : str, default ""
        Name of the option that was given and is wrong.

    Examples
    --------
    >>> from censquant.io import TableError
    >>> error = TableError("status has the values 'alive' and 'dead'", [("event_value", "dead")])
    >>> str(error)
    "status has the values 'alive' and 'dead': pass event_value='dead'."
    >>> error.for_shell()
    "status has the values 'alive' and 'dead': add --event-value dead."
    """

    def __init__(
        self,
        problem: str,
        options: Sequence[tuple[str, str]] = (),
        remedy: str = "",
        *,
        about: str = "",
    ) -> None:
        self.problem, self.options = problem, tuple(options)
        self.remedy, self.about = remedy, about
        shown = [f"{name}={value!r}" for name, value in self.options]
        super().__init__(_OPTION.sub(r"\1", self._sentence("pass", shown, about)))

    def for_shell(self) -> str:
        """Return the message with the options as the command takes them."""
        sentence = self._sentence(
            "add",
            [f"{_typed(name)} {_quoted(value)}" for name, value in self.options],
            _typed(self.about),
        )
        return _OPTION.sub(lambda found: _typed(found[1]), sentence)

    def _sentence(self, verb: str, options: list[str], about: str) -> str:
        added = [f"{verb} {' or '.join(options)}"] if options else []
        remedies = ", or ".join([*added, *([self.remedy] if self.remedy else [])])
        text = f"{self.problem}: {remedies}" if remedies else self.problem
        return f"{about}: {text}{'' if text.endswith('?') else '.'}".removeprefix(": ")


def _quoted(value: str) -> str:
    """Quote a value for a shell; a mark alone would be lost in the sentence."""
    if value == "'":
        return f'"{value}"'
    return f"'{value}'" if value in (".", ",") else shlex.quote(value)


def _typed(name: str) -> str:
    """Write an option as it is typed in a shell."""
    return f"--{name.replace('_', '-')}" if name else ""


@dataclass(frozen=True)
class TextOptions:
    """How the text of a CSV file is to be read; other formats know it themselves.

    Parameters
    ----------
    separator : str, optional
        The character between columns. By default the tab in files called ``.tsv``; elsewhere the
        comma, or the one of ``;``, tab and ``|`` that the header has where it has no comma.
    decimal : {".", ","}, optional
        What separates the whole part of a number from the rest. By default the point, or the comma
        where ``thousands`` is the point; columns such as 620, 1.070, 28.810, in which the point may
        separate thousands, are then refused.
    encoding : str, optional
        By default UTF-8, or what the first bytes of the file say.
    missing : tuple of str, default ()
        Texts that stand for a missing value beside the usual ones (nothing, NA, NaN, null, ...).
    thousands : {".", ",", " ", "'"}, optional
        What separates thousands: 28.810 is 28810 with ``"."``. By default nothing does.

    Examples
    --------
    >>> from censquant.io import TextOptions
    >>> TextOptions(separator=";", thousands=".").decimal_mark
    ','
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    thousands: str | None = None

    def __post_init__(self) -> None:
        for name, mark, known in (
            ("decimal", self.decimal, (".", ",")),
            ("thousands", self.thousands, THOUSANDS),
        ):
            if mark is not None and mark not in known:
                shown = ", ".join(map(repr, known))
                raise TableError(f"{option(name)} must be one of {shown}, got {mark!r}")
        if self.separator is not None and (
            len(self.separator) != 1 or ord(self.separator) > 127 or self.separator in '"\r\n'
        ):
            raise TableError(
                f"{option('separator')} must be one character such as ';', got "
                f"{self.separator!r}; write the tab as $'\\t' in a shell"
            )
        # Thousands may have the mark of the separator, in quotation marks.
        for name, mark in (("separator", self.separator), ("thousands", self.thousands)):
            if mark is not None and mark == self.decimal:
                raise TableError(
                    f"{option(name)} and {option('decimal')} must differ, got {mark!r} for both"
                )
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def decimal_mark(self) -> str:
        """The decimal mark, whether it was given or not."""
        return self.decimal or ("," if self.thousands == "." else ".")

    def to_dict(self) -> dict[str, Any]:
        """Return what tables from the same source share, as notes of a model file."""
        # Each file has its own separator and encoding.
        return {
            "decimal": self.decimal,
            "thousands": self.thousands,
            "missing": list(self.missing),
        }


def _check_encoding(encoding: str) -> None:
    """Refuse what is no encoding of text: some of Python's compress, or turn text into text."""
    try:
        decode = codecs.getincrementaldecoder(encoding)("strict").decode
        is_text = decode(_SAMPLE.encode(encoding), final=True) == _SAMPLE
    except (LookupError, UnicodeError, ValueError):
        is_text = False
    if not is_text:
        raise TableError(
            f"{option('encoding')} must be one that Python knows for text, such as cp1252 or "
            f"utf-16, got {encoding!r}"
        )
