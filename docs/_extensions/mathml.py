"""Formulas as MathML, which browsers draw themselves: no script, no network."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.errors import ExtensionError

# Browsers stretch brackets to what is between them; docutils does not know the commands for it.
SIZE_OF_BRACKETS = re.compile(r"\\[bB]ig(?![a-zA-Z])")


def as_mathml(node, as_block):
    """Markup of a formula."""
    code = SIZE_OF_BRACKETS.sub("", node.astext())
    try:
        return latex2mathml.tex2mathml(code, as_block=as_block)
    except MathError as error:
        where = f"The formula {code!r} in {node.source} is not readable: {error}."
        raise ExtensionError(where) from error


def visit_inline(translator, node):
    """Write a formula inside a sentence."""
    translator.body.append(as_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula of its own line."""
    translator.body.append(f'<div class="math">{as_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
