"""LaTeX for tables: booktabs rules, and words that cannot break the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from censquant.cli._tables import Table, TableCell


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
    >>> from censquant_bench.reporting._latex import escape_latex
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
