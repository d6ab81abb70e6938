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
from numba.core import event
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
from censquant._progress import Bar

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


def full_disk(path, content):
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_a_compilation_and_nothing_else(source, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", full_disk)
        assert compilations(load(source, 1)) == (2, 1)
    assert not list(source.parent.rglob("*.nbc*"))
    assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 0)


def test_code_of_an_older_source_never_runs_after_the_disk_was_full(source, monkeypatch):
    assert compilations(load(source, 1)) == (2, 1)
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", full_disk)
        assert compilations(load(source, 20)) == (21, 1)
    assert compilations(load(source, 20)) == (21, 1)


def truncated(content):
    return content[:-20]


def with_other_code(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def empty(content):
    return b""


@pytest.mark.parametrize("damage", [truncated, with_other_code, empty])
def test_a_damaged_file_costs_a_compilation_and_is_replaced(source, damage):
    load(source, 1)(1)
    (damaged,) = (source.parent / "cache").rglob("*.nbc")
    damaged.write_bytes(damage(damaged.read_bytes()))
    assert compilations(load(source, 1)) == (2, 1)
    assert compilations(load(source, 1)) == (2, 0)


PARTS = """
from typing import NamedTuple

import numpy as np
from censquant._compile import compiled_part

CONSTANT = 10
TABLE = np.array([100.0, 200.0])


@compiled_part
def add(x):
    return x + 1
"""
KERNEL = """
from censquant._compile import compiled
import settings
from parts import CONSTANT, TABLE, add


@compiled
def kernel(pair):
    return add(pair.first) + CONSTANT + TABLE[0] + settings.FACTOR * pair.second
"""
CALL = """
from collections import namedtuple
from numba.core import event
from censquant import _compile
from kernel import kernel
{before}
with event.install_recorder("numba:compile") as recorder:
    result = kernel(namedtuple("Pair", "{fields}")(5, 7))
compiled = [e.data["dispatcher"].__name__ for _, e in recorder.buffer if e.is_start]
print(int(result), compiled.count("kernel"))
"""


@pytest.fixture
def package(tmp_path):
    """A kernel in one file that calls a function of another; what calls it in a new process."""
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "settings.py").write_text("FACTOR = 1000\n")
    (tmp_path / "kernel.py").write_text(KERNEL)

    def call(before="", fields="first second", **environment):
        path = os.pathsep.join([str(tmp_path), str(Path(censquant.__file__).parents[1])])
        done = subprocess.run(
            [sys.executable, "-c", CALL.format(before=before, fields=fields)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0", **environment},
            cwd=tmp_path,
        )
        return tuple(int(number) for number in done.stdout.split())

    return call


def test_a_kernel_is_kept_until_its_source_or_that_of_what_it_calls_changes(package, tmp_path):
    assert package() == (7116, 1)
    assert package() == (7116, 0)
    for name, old, new, result in (
        ("parts.py", "x + 1\n", "x + 2\n", 7117),
        ("parts.py", "CONSTANT = 10", "CONSTANT = 20", 7127),
        ("settings.py", "1000", "2000", 14127),
    ):
        file = tmp_path / name
        file.write_text(file.read_text().replace(old, new))
        assert package() == (result, 1)
        assert package() == (result, 0)


def test_a_kernel_of_other_fields_is_another_one(package):
    assert package() == (7116, 1)
    assert package(fields="second first") == (5118, 1)


def test_a_kernel_of_another_version_or_processor_is_compiled_anew_with_equal_results(package):
    assert package() == (7116, 1)
    assert package(before="_compile._VERSIONS = ('0.1', '0.1', 'other')") == (7116, 1)
    assert package(NUMBA_CPU_NAME="generic") == (7116, 1)
    assert package(NUMBA_BOUNDSCHECK="1") == (7116, 1)
    assert package() == (7116, 0)


def test_kernels_move_with_the_package(package, tmp_path):
    # As when they are compiled while a wheel is built, and installed elsewhere and later.
    assert package() == (7116, 1)
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (0, 0))
    (tmp_path / "elsewhere").mkdir()
    for path in tmp_path.iterdir():
        if path.name != "elsewhere":
            path.rename(tmp_path / "elsewhere" / path.name)
    path = os.pathsep.join([str(tmp_path / "elsewhere"), str(Path(censquant.__file__).parents[1])])
    assert package(PYTHONPATH=path) == (7116, 0)


def test_it_is_said_once_that_kernels_are_compiled_and_never_if_they_are_there(tmp_path):
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIT],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "generic"},
        )
        assert (int(done.stdout) > 0) == (not said)
        said.append(done.stderr)
    assert said[0].count("compiling kernels, once per installation\n") == 1
    assert "kernels" not in said[1]


def test_a_moment_of_compilation_is_not_mentioned(source, capsys):
    assert compilations(load(source, 1)) == (2, 1)
    assert capsys.readouterr().err == ""


def test_in_a_bar_it_is_said_while_it_lasts(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(_compile, "_SILENT_SECONDS", 0.0)
    account = _compile._Account()
    with Bar("training", 3, unit="epochs") as bar:
        account.begin()
        account._waiting.join()
        assert capsys.readouterr().err.endswith("compiling kernels, once per installation")
        account.end()
        bar.advance(1)
    assert capsys.readouterr().err.rstrip().endswith("\rtraining 1/3 epochs")
    assert account.n_compiled == 1


def test_long_compilation_is_followed_by_how_far_it_is(capsys, monkeypatch):
    times = iter([0.0, 4.0, 10.0, 20.0])
    monkeypatch.setattr(_compile, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(_compile.time, "monotonic", lambda: next(times))
    account = _compile._Account()
    account._say()
    for _ in range(2):
        account.begin()
        account.end()
    assert capsys.readouterr().err == (
        "compiling kernels, once per installation\n2 kernels compiled in 14 s\n"
    )


DEFAULT = """
from numba.core import event
from censquant import CensoredQuantileRegressor
from censquant.datasets import load_gbsg2
with event.install_recorder("numba:compile") as recorder:
    X, y = load_gbsg2(as_frame=False)
    CensoredQuantileRegressor(random_state=0).fit(X, y).predict_quantiles(X[:1], [0.5])
print(len(recorder.buffer))
"""


def test_after_a_warm_up_the_recommended_estimator_compiles_nothing():
    commands = (["-m", "censquant", "warm-up"], ["-m", "censquant", "warm-up"], ["-c", DEFAULT])
    _, again, fit = [
        subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
        for command in commands
    ]
    assert re.fullmatch(r"\d+ kernels loaded; nothing had to be compiled\.\n", again.stdout)
    assert (fit.stdout, fit.stderr) == ("0\n", "")


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
    assert compilations(load(tmp_path / "source.py", 1)) == (2, 1)
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
        _compile.private_directory(True)


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
