import importlib.util
import re
import subprocess
import sys

import pytest

MESSAGE = 'censquant.torch needs PyTorch. Install it with: pip install "censquant[torch]"'

HIDDEN = f"import sys; sys.path[:0] = {sys.path!r}; sys.modules['torch'] = None\n"


def run(code):
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, timeout=120
    )


def test_without_torch_the_import_says_what_to_install():
    result = run("import censquant.torch")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"ImportError: {MESSAGE}"


def test_the_sentence_is_that_of_the_package(monkeypatch):
    # Under another name: the package that other tests use stays as it is.
    source = importlib.util.find_spec("censquant.torch").origin
    spec = importlib.util.spec_from_file_location("package_without_torch", source)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="^" + re.escape(MESSAGE) + "$"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_everything_else_runs_without_torch():
    code = """
import numpy as np
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._rows import Rows
rng = np.random.default_rng(0)
rows = Rows.from_arrays(np.ones((9, 1)), time=np.arange(9), event=np.arange(9) % 2 == 0)
network = DenseNetwork([1, 4, 2], rng=rng)
train(network, Portnoy((0.25, 0.5), y_star=20.0), rows, TrainingConfig(max_epochs=1), rng)
"""
    result = run(code)
    assert (result.returncode, result.stderr) == (0, "")
