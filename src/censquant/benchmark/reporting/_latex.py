"""LaTeX for tables: booktabs rules, and words that cannot break the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from censquant.benchmark.reporting._tables import Cell, Table

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
    >>> from censquant.benchmark.reporting._latex import escape_latex
    >>> print(escape_latex("my_set & 5 % ± 1"))
    my\_set \& 5 \% $\pm$ 1
    """
    return text.translate(_ESCAPES)


def to_latex(tables: Sequence[Table], head: str = "") -> str:
    r"""LaTeX of the tables, each in a floating environment, with the head as a comment.

    The document needs the packages booktabs and graphicx; a table wider than the page is scaled.

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
    >>> from censquant.benchmark.reporting._latex import to_latex
    >>> from censquant.benchmark.reporting._tables import Cell, Table
    >>> text = to_latex([Table("Means", ("set", "C"), ((Cell("a_b"), Cell("0.6", bold=True)),))])
    >>> [line for line in text.splitlines() if "0.6" in line]
    ['a\\_b & \\textbf{0.6} \\\\']
    """
    comment = ["% Needs \\usepackage{booktabs,graphicx}."]
    comment += [f"% {line}" for line in head.splitlines()]
    return "\n\n".join(["\n".join(comment), *(_float(table) for table in tables)]) + "\n"


def _float(table: Table) -> str:
    """One table with its caption above and its notes below."""
    words, figures = table.n_labels, len(table.columns) - table.n_labels
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{escape_latex(table.title)}}}",
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


def _cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold else text
