"""How the text of a table is to be read."""

import codecs
from dataclasses import dataclass
from typing import Any

from censquant.io._error import TableError, option

# What pandas takes for a missing value, so that a file means the same to both.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
THOUSANDS = (".", ",", " ", "'")
# Half a page that every text encoding can hold.
_SAMPLE = "days,failed\n1,0\n"


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
        """Return what tables from the same source have in common, as notes of a model file."""
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
