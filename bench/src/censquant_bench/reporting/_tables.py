"""Tables described once and written as Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from censquant.cli._tables import Table, TableCell
from censquant_bench.reporting._summary import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from pandas import Series
if TYPE_CHECKING:
    from censquant.cli._tables import Table, TableCell


_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"} | {"\n": " "})

_LARGEST_PLAIN = 1e6


def escape_markdown(text: str) -> str:
    r"""Text that Markdown shows as it stands, also inside a table.

    Examples
    --------
    >>> from censquant_bench.reporting import escape_markdown
    >>> print(escape_markdown("my_set | 5 %"))
    my\_set \| 5 %
    """
    return text.translate(_SPECIAL)


def to_markdown(tables: Sequence[Table], head: str = "") -> str:
    """Markdown of the tables, after a head that says where the numbers come from.

    Parameters
    ----------
    tables : sequence of Table
        What to write.
    head : str
        First paragraph, taken as it is: it may hold Markdown.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from censquant_bench.reporting import Table, to_markdown
    >>> to_markdown([Table("Nothing", ("a",), ())], "Today.").splitlines()[0]
    'Today.'
    """
    parts = [head] if head else []
    for table in tables:
        rules = ["|:--"] * table.n_labels + ["|--:"] * (len(table.columns) - table.n_labels)
        lines = [_line(escape_markdown(name) for name in table.columns), "".join(rules) + "|"]
        for row in table.rows:
            lines.append(_line(_marked(cell) for cell in row))
        notes = [escape_markdown(note) for note in table.notes]
        parts += [f"## {escape_markdown(table.title)}", "\n".join(lines), *notes]
    return "\n\n".join(parts) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _marked(cell: TableCell) -> str:
    text = escape_markdown(cell.text)
    return f"**{text}**" if cell.bold else text


def number(value: float, digits: int = 3) -> str:
    """Text of a number as it is printed, with a true minus sign; a dash where there is none.

    Examples
    --------
    >>> from censquant_bench.reporting import number
    >>> number(-1.5), number(float("nan")), number(-0.0001), number(7.7e11)
    ('−1.500', '–', '0.000', '7.7e+11')
    """
    if math.isnan(value):
        return "–"
    # Some method fails on some set by many powers of ten: no table is as wide as that.
    is_plain = digits == 0 or abs(value) < _LARGEST_PLAIN
    text = f"{value:.{digits}f}" if is_plain else f"{value:.2g}"
    # A tiny negative number would print as -0.000.
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """Text of a number with its sign, also where it is positive.

    Examples
    --------
    >>> from censquant_bench.reporting import signed
    >>> signed(1.25), signed(-1.25)
    ('+1.2', '−1.2')
    """
    text = number(value, digits)
    return f"+{text}" if text[0].isdigit() and float(text) > 0 else text


def plus_minus(mean: float, error: float, digits: int = 3) -> str:
    """Mean and its error; the mean alone where no error is known.

    Examples
    --------
    >>> from censquant_bench.reporting import plus_minus
    >>> plus_minus(0.683, 0.005)
    '0.683 ± 0.005'
    """
    text = number(mean, digits)
    return text if math.isnan(error) else f"{text} ± {number(error, digits)}"


def best_in_print(means: Iterable[float], metric: str) -> str | None:
    """Text of the best mean, which all that print the same share; None where there is no choice.

    Examples
    --------
    >>> from censquant_bench.reporting import best_in_print
    >>> best_in_print([0.61, 0.62], "cindex"), best_in_print([0.61, float("nan")], "cindex")
    ('0.620', None)
    """
    there = [mean for mean in means if not math.isnan(mean)]
    if len(there) < 2:
        return None
    return number(max(there) if metric in HIGHER_IS_BETTER else min(there))


def runs_note(counts: Series) -> str:
    """Sentence on the means of a table whose cells have these numbers of runs.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import runs_note
    >>> runs_note(pd.Series([10, 10]))
    'Mean ± one standard error over 10 runs.'
    """
    if not counts.any():
        return "No run succeeded."
    low, high = int(counts.min()), int(counts.max())
    if high == 1:
        return "One run per cell, so there is no standard error."
    runs = f"{low}" if low == high else f"{low} to {high}"
    return f"Mean ± one standard error over {runs} runs."


# So many rows, a caption and a few notes fill a page of LaTeX's article class; a float that is
# taller runs off the paper.
_ROWS_PER_PAGE = 40
# Modern pdfLaTeX knows the letters of Latin alphabets up to here, and stops at most others.
_LAST_LATIN = "\u017f"
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "×": r"$\times$",
        "−": "$-$",
        "≤": r"$\leq$",
        "–": "--",
        "<": "$<$",
        ">": "$>$",
        "|": r"\textbar{}",
        # A bracket that follows the end of a row would be read as the height of that row.
        "[": "{[}",
        "]": "{]}",
        "\n": " ",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands.

    Examples
    --------
    >>> from censquant_bench.reporting._tables import escape_latex
    >>> print(escape_latex("my_set & 5 % ± 1"))
    my\_set \& 5 \% $\pm$ 1
    """
    return text.translate(_ESCAPES)


def to_latex(tables: Sequence[Table], head: str = "") -> str:
    r"""LaTeX of the tables, each in a floating environment, with the head as a comment.

    The document needs the packages booktabs and graphicx; a table wider than the page is scaled,
    and one longer than a page continues under the same number on the next. Names in letters that
    are not Latin need XeLaTeX or LuaLaTeX; the comment says so where there are any.

    Parameters
    ----------
    tables : sequence of Table
        What to write.
    head : str
        Where the numbers come from.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from censquant_bench.reporting import Table, TableCell, to_latex
    >>> row = TableCell("a_b"), TableCell("0.6", bold=True)
    >>> text = to_latex([Table("Means", ("set", "C"), (row,))])
    >>> [line for line in text.splitlines() if "0.6" in line]
    ['a\\_b & \\textbf{0.6} \\\\']
    """
    comment = ["% Needs \\usepackage{booktabs,graphicx}."]
    comment += [f"% {line}" for line in head.splitlines()]
    floats = [
        _float(page, continued=place > 0)
        for table in tables
        for place, page in enumerate(_pages(table))
    ]
    strange = sorted({sign for text in floats for sign in text if sign > _LAST_LATIN})
    if strange:
        comment += [
            f"% Needs XeLaTeX or LuaLaTeX, and a font that has {' '.join(strange)}: "
            "pdfLaTeX stops at such letters."
        ]
    return "\n\n".join(["\n".join(comment), *floats]) + "\n"


def _pages(table: Table) -> Iterator[Table]:
    """Parts of a table that each fit a page, cut before a block where one begins; notes go last."""
    start, n_rows = 0, len(table.rows)
    while n_rows - start > _ROWS_PER_PAGE:
        full = start + _ROWS_PER_PAGE
        end = max((cut for cut in table.breaks if start < cut <= full), default=full)
        yield _part(table, start, end, notes=())
        start = end
    yield _part(table, start, n_rows, notes=table.notes)


def _part(table: Table, start: int, end: int, notes: tuple[str, ...]) -> Table:
    inside = frozenset(cut - start for cut in table.breaks if start < cut < end)
    return replace(table, rows=table.rows[start:end], breaks=inside, notes=notes)


def _float(table: Table, *, continued: bool) -> str:
    """One table, or a further page of one, with its caption above and its notes below."""
    words, figures = table.n_labels, len(table.columns) - table.n_labels
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        *([r"\addtocounter{table}{-1}"] if continued else []),
        rf"\caption{{{escape_latex(table.title)}{' (continued)' if continued else ''}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * words}{'r' * figures}}}",
        r"\toprule",
        " & ".join(escape_latex(name) for name in table.columns) + r" \\",
        r"\midrule",
    ]
    for place, row in enumerate(table.rows):
        if place in table.breaks:
            lines.append(r"\midrule")
        lines.append(" & ".join(_cell(cell) for cell in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += [rf"\par\smallskip{{\footnotesize {escape_latex(note)}}}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"])


def _cell(cell: TableCell) -> str:
    text = escape_latex(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold else text
