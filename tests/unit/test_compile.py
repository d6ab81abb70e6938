"""Compiled functions run whatever can be written to, and never run the code of another source."""

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching, event
from numba.core.dispatcher import Dispatcher

import censquant
from censquant import (
    CQRNN,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    ShapeNN,
    WeibullNN,
    _compile,
)

FIT = """
import numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from censquant import CQRNN
    X = np.linspace(0, 1, 40)[:, None]
    CQRNN(max_epochs=1, hidden_layer_sizes=(2,)).fit(X, (1 + X[:, 0], X[:, 0] < 0.7)).predict(X)
print(len(recorder.buffer))
"""


def read_only_copy(path):
    """The package in a directory that nobody, root included, can write compiled code to."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(censquant.__file__).parent, path / "censquant", ignore=ignored)
    for directory in [path / "censquant", *path.rglob("*/")]:
        # Root may write to a read-only directory, but not make one where a file is.
        (directory / "__pycache__").touch()
        directory.chmod(0o555)


@pytest.mark.slow  # everything is compiled anew
def test_a_read_only_installation_without_a_home_directory_fits(tmp_path):
    installed, temporary = tmp_path / "installed", tmp_path / "temporary"
    read_only_copy(installed)
    temporary.mkdir()
    try:
        compiled = [
            subprocess.run(
                [sys.executable, "-B", "-c", FIT],
                capture_output=True,
                text=True,
                check=True,
                timeout=1800,
                env={
                    "PYTHONPATH": str(installed),
                    "TMPDIR": str(temporary),
                    "HOME": "/dev/null/none",
                },
                cwd=temporary,
            ).stdout
            for _ in range(2)
        ]
    finally:
        for directory in [installed / "censquant", *installed.rglob("*/")]:
            directory.chmod(0o755)
    assert int(compiled[0]) > 0
    assert int(compiled[1]) == 0
    assert [path.name for path in temporary.iterdir()] == [f"censquant-{os.getuid()}"]


def load(path, added):
    """A function that adds a number, compiled from a source file with only that in it."""
    text = (
        "from censquant._compile import compiled\n\n\n"
        f"@compiled\ndef add(x):\n    return x + {added}\n"
    )
    # Older versions of numba compile again if the time of the file changes.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.add


def compilations(function):
    """What a function makes of 1, and how many compilations that took."""
    with event.install_recorder("numba:compile") as recorder:
        result = function(1)
    return result, len(recorder.buffer) // 2  # a start and an end each


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "source.py"


def test_a_function_is_compiled_once_for_all_processes(source):
    assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 0)


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("part", ["_save_index", "_save_data"])
def test_a_full_disk_costs_a_compilation_and_nothing_else(source, monkeypatch, part):
    with monkeypatch.context() as full:
        full.setattr(caching.IndexDataCacheFile, part, full_disk)
        assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 0)


def test_code_of_an_older_source_never_runs_after_the_disk_was_full(source, monkeypatch):
    assert compilations(load(source, 1)) == (2, 1)
    with monkeypatch.context() as full:
        full.setattr(caching.IndexDataCacheFile, "_save_data", full_disk)
        assert compilations(load(source, 20)) == (21, 1)
    assert compilations(load(source, 20)) == (21, 1)


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_costs_a_compilation_and_is_replaced(source, kind):
    load(source, 1)(1)
    (damaged,) = (source.parent / "cache").rglob(f"*.{kind}")
    damaged.write_bytes(damaged.read_bytes()[:20])
    assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 0)


def unwritable(monkeypatch, tmp_path):
    """Put files where numba would make directories."""
    (tmp_path / "__pycache__").touch()
    (tmp_path / "home").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_without_any_other_directory_code_is_kept_in_a_private_temporary_one(tmp_path, monkeypatch):
    unwritable(monkeypatch, tmp_path)
    assert compilations(load(tmp_path / "source.py", 1)) == (2, 1)
    assert compilations(load(tmp_path / "source.py", 1)) == (2, 0)
    private = tmp_path / f"censquant-{os.getuid()}"
    assert private.stat().st_mode & 0o777 == 0o700
    assert list(private.rglob("*.nbc"))
    assert numba.config.CACHE_DIR == ""


def test_without_even_a_temporary_directory_every_process_compiles(tmp_path, monkeypatch):
    unwritable(monkeypatch, tmp_path)
    (tmp_path / f"censquant-{os.getuid()}").touch()
    for _ in range(2):
        assert compilations(load(tmp_path / "source.py", 1)) == (2, 1)


def test_a_user_without_a_home_directory_gets_none_in_the_working_directory(tmp_path, monkeypatch):
    unwritable(monkeypatch, tmp_path)

    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_compile.Path, "home", unknown)
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    load(tmp_path / "source.py", 1)
    made = {path.name for path in set(tmp_path.iterdir()) - before}
    assert made == {"source.py", f"censquant-{os.getuid()}"}


@pytest.mark.parametrize("trap", ["link", "open", "foreign"])
def test_a_temporary_directory_that_others_could_fill_is_not_trusted(tmp_path, monkeypatch, trap):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / f"censquant-{os.getuid()}"
    if trap == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
        path.chmod(0o770 if trap == "open" else 0o700)
    if trap == "foreign":
        owner = path.stat().st_uid
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
        path.rename(tmp_path / f"censquant-{owner + 1}")
        path = tmp_path / f"censquant-{owner + 1}"
    message = f"{path} belongs to another user or can be written to by others."
    with pytest.raises(PermissionError, match="^" + re.escape(message) + "$"):
        _compile.private_directory()


def test_functions_stay_plain_python_where_compiling_is_switched_off(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)

    def double(x):
        return 2 * x

    assert _compile.compiled(double) is double


def test_no_compiled_function_hands_python_a_new_array():
    X = np.linspace(0, 1, 40)[:, None]
    y = (1 + X[:, 0] + 0.5 * np.sin(40 * X[:, 0]), X[:, 0] < 0.7)
    for model in (
        LinearQuantileRegressor([0.1, 0.2]),
        CQRNN(max_epochs=1),
        WeibullNN(max_epochs=1),
        ShapeNN(max_steps=2),
        CoxQuantileRegressor(),
    ):
        model.fit(X, y).score(X, y)
    found = {
        value
        for name, module in sys.modules.items()
        if name.startswith("censquant.")
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and not value.__name__.startswith("_")
    }
    returned = {function.__name__: function.nopython_signatures for function in found}
    known = {"dense_forward", "portnoy", "sort_rows", "pair_weights", "tie_sums"}
    assert {*known, "shape_loss"} <= set(returned)
    for name, signatures in returned.items():
        for signature in signatures:
            assert "array" not in str(signature.return_type), name
