"""How the text of a table is to be read."""

import codecs
from dataclasses import dataclass

from censquant._validation import check_choice

# What pandas takes for a missing value, so that a file means the same to both.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


@dataclass(frozen=True)
class TextOptions:
    """How the text of a CSV file is to be read; other formats know it themselves.

    Parameters
    ----------
    separator : str, optional
        The character between columns. By default the tab in files called ``.tsv``; elsewhere the
        comma, or the one of ``;``, tab and ``|`` that the header has where it has no comma.
    decimal : {".", ","}, default "."
        What separates the whole part of a number from the rest.
    encoding : str, optional
        By default UTF-8, or what the first bytes of the file say.
    missing : tuple of str, default ()
        Texts that stand for a missing value beside the usual ones (nothing, NA, NaN, null, ...).

    Examples
    --------
    >>> from censquant.io import TextOptions
    >>> TextOptions(separator=";", decimal=",").missing
    ()
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("decimal", self.decimal, (".", ","))
        if self.separator is not None and (
            len(self.separator) != 1 or ord(self.separator) > 127 or self.separator in '"\r\n'
        ):
            raise ValueError(
                f"separator must be one character such as ';', got {self.separator!r}; write the "
                "tab as $'\\t' in a shell."
            )
        if self.separator == self.decimal:
            raise ValueError(
                f"separator and decimal must differ, got {self.decimal!r} for both: numbers could "
                "not be told from columns."
            )
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    "encoding must be one that Python knows, such as cp1252 or utf-16, got "
                    f"{self.encoding!r}."
                ) from None
