"""What all figures share."""

import re
import sys

import pytest

from censquant_bench.reporting import new_figure


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    sentence = 'figures need matplotlib; install it with: pip install "censquant[plot]"'
    with pytest.raises(ImportError, match=f"^{re.escape(sentence)}$"):
        new_figure(1, 1)
