"""Decorators of compiled functions, and the files that keep their machine code.

Importing this module loads numba, so only files that hold kernels import it. A compiled function
that Python calls returns numbers or nothing and writes arrays into its arguments: numba runs Python
code to hand over a new array, and a Ctrl-C that arrives there surfaces as a SystemError.

Machine code is kept in files that may be made long before they are used, by the build of a wheel or
by ``censquant warm-up``. A file is used only if everything that its code was made of is the same:
versions of Python, numba and llvmlite, the processor, the types of the arguments and the source of
the function and of all functions it calls. Otherwise the function is compiled again.
"""

import hashlib
import os
import pickle
import secrets
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import register_jitable
from numba.misc.appdirs import AppDirs

from censquant._progress import remark, say

# What type checkers know of numba is not all that it takes and has.
_settings: Any = numba.config
_njit: Any = njit
_part: Any = register_jitable
_result: Any = CompileResult
_serialized: Any = dumps
_system: Any = AppDirs
_VERSIONS = (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag)
_DIGEST_BYTES = 32
_COMPILING = "compiling kernels, once per installation"
_SILENT_SECONDS = 1.0
_REPORT_SECONDS = 10.0


def compiled_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function which Python calls and which releases the GIL.

    The machine code is kept in ``NUMBA_CACHE_DIR``, beside the source file or in the user's cache
    directory. Where none of them can be written to (a read-only installation and no home
    directory), it is kept in a private temporary directory; where that is impossible too, or the
    disk is full, every process compiles for itself.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        _remember_source(function)
        # Nothing but Python calls it: the wrapper for C would cost a tenth of the compilation.
        dispatcher = _njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        if dispatcher is not function:  # which it is with NUMBA_DISABLE_JIT=1
            dispatcher._cache = _Kept(function, options)
        return dispatcher

    return decorate


def part_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a function that compiled functions call; Python runs it as it is.

    It is compiled into what calls it, without the wrapper and the file that a call from Python
    needs, and that take longer to make than most of these functions. Compiled functions call no
    others than these.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        _remember_source(function)
        return _part(no_cfunc_wrapper=True, **options)(function)

    return decorate


compiled = compiled_with()
"""Decorator for kernels that check what they divide by."""

compiled_part = part_with()
"""Decorator for parts of such kernels."""

exact = compiled_with(error_model="numpy")
"""Decorator for kernels that divide as numpy does: by zero to infinity, and every limit exact."""

exact_part = part_with(error_model="numpy")
"""Decorator for parts of such kernels."""

# LLVM may use vector registers then, and may assume that no NaN or infinity occurs: the training
# loop looks for non-finite values itself.
fast = compiled_with(fastmath=True, error_model="numpy")
"""Decorator for the kernels of training."""

fast_part = part_with(fastmath=True, error_model="numpy")
"""Decorator for parts of such kernels."""


class _Kept:
    """The machine code of one function on disk: what numba asks for and hands over.

    A failure to read or write costs a compilation and nothing else.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function = function
        self._options = sorted(options.items())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        context.refresh()
        made_of, name = self._made_of(), self._name(signature, context.codegen())
        if made_of is not None:
            for directory in _directories(self._function):
                with suppress(Exception):  # a damaged file may raise anything
                    code = _read(directory(False) / name, made_of)
                    if code is not None:
                        result = _result._rebuild(context, *code)
                        account.n_loaded += 1
                        return result
        account.begin()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, if anywhere."""
        account.end()
        made_of = self._made_of()
        if made_of is None or result.lifted or result.library.has_dynamic_globals:
            return
        code = _serialized(result._reduce())
        content = made_of + hashlib.sha256(code).digest() + code
        for directory in _directories(self._function):
            try:
                path = directory(True) / self._name(signature, result.codegen)
                _write(path, content)
            except (OSError, RuntimeError):  # no such place, or none that can be written to
                continue
            account.folders.add(path.parent)
            return

    @property
    def cache_path(self) -> str:
        """Where numba's statistics say that the code is."""
        return str(_beside(self._function))

    def enable(self) -> None:
        """Do nothing: code is always kept."""

    disable = flush = enable

    def _name(self, signature: Any, codegen: Any) -> str:
        """Return a file's name: what may differ from process to process on the same source."""
        switches = f"{_settings.OPT} {_settings.BOUNDSCHECK} {_settings.DEBUGINFO_DEFAULT}"
        machine = (codegen.magic_tuple(), _VERSIONS, switches)
        key = (_described(signature), machine, self._options)
        function = f"{self._function.__module__}.{self._function.__qualname__}"
        return f"{function}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def _made_of(self) -> bytes | None:
        """Return a digest of all source that the code is made of; None if that is not known."""
        try:
            return _source_digest(self._function)
        except OSError:  # there is no file of source
            return None


def _described(signature: Any) -> str:
    """Return types as text; of named tuples, also the names that stand for places."""
    if hasattr(signature, "instance_class") and hasattr(signature, "fields"):
        inside = ", ".join(_described(each) for each in signature.types)
        return f"{signature.instance_class.__qualname__}{signature.fields}({inside})"
    if isinstance(signature, tuple):
        return f"({', '.join(_described(each) for each in signature)})"
    return f"{signature}"


def _remember_source(function: Any) -> None:
    """Note the digest of the file that a function has just been read from."""
    with suppress(OSError):
        function._source_digest = _file_digest(function.__code__.co_filename)


def _file_digest(path: str) -> bytes:
    status = Path(path).stat()
    return _content_digest(path, status.st_mtime_ns, status.st_size)


@cache
def _content_digest(path: str, changed: int, size: int) -> bytes:
    """Return the digest of a file, which is read again when it has changed."""
    return hashlib.sha256(Path(path).read_bytes()).digest()


def _source_digest(function: Any) -> bytes:
    """Return a digest of the files that hold a function and what it calls, and of constants.

    numba makes constants of all values outside of a function, wherever they come from.
    """
    digests, constants = set(), set()
    waiting, seen = [function], {function}
    while waiting:
        current = waiting.pop()
        digests.add(
            vars(current).get("_source_digest") or _file_digest(current.__code__.co_filename)
        )
        for name, outside in _values_outside(current):
            value = getattr(outside, "py_func", outside)
            of_numba = str(getattr(value, "__module__", "")).startswith(("numba.", "numpy."))
            if not isinstance(value, FunctionType):
                constants.add(f"{current.__module__}.{name}: {_constant(value)}")
            elif value not in seen and not of_numba:
                seen.add(value)
                waiting.append(value)
    parts = [*sorted(digests), *(text.encode() for text in sorted(constants))]
    return hashlib.sha256(b"\n".join(parts)).digest()


def _values_outside(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values from outside that a function uses, by their names."""
    yield "defaults", function.__defaults__
    cells = function.__closure__ or ()
    yield from zip(function.__code__.co_freevars, [c.cell_contents for c in cells], strict=True)
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _constant(value: Any) -> str:
    """Return a value as text that is the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"({', '.join(_constant(each) for each in value)})"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return repr(value)
    # Of a module or class, anything may be a constant; what is installed belongs to a version.
    module = value if isinstance(value, ModuleType) else sys.modules.get(str(value.__module__))
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    path = getattr(module, "__file__", None)
    if path is None or str(getattr(module, "__name__", "")).split(".")[0] in ("numpy", "numba"):
        return str(name)
    return f"{name} {_file_digest(path).hex()}"


def _read(path: Path, made_of: bytes) -> Any:
    """Return the code in a file if it was made of the source as it is now; None if not."""
    with suppress(OSError):
        content = path.read_bytes()
        digest, code = content[_DIGEST_BYTES : 2 * _DIGEST_BYTES], content[2 * _DIGEST_BYTES :]
        if content[:_DIGEST_BYTES] == made_of and hashlib.sha256(code).digest() == digest:
            return pickle.loads(code)
    return None


def _write(path: Path, content: bytes) -> None:
    """Put a file in its place at once, readable by whoever may read the directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _directories(function: Any) -> Iterator[Callable[[bool], Path]]:
    """Yield where a function's code may be, by preference, as calls told whether to make it."""
    source = _beside(function)
    apart = f"censquant-{hashlib.sha256(str(source).encode()).hexdigest()[:16]}"
    chosen = _settings.CACHE_DIR
    if chosen:
        yield lambda make: Path(chosen) / apart
    yield lambda make: source
    yield lambda make: _user_directory() / apart
    yield lambda make: private_directory(make) / apart


def _beside(function: Any) -> Path:
    return Path(function.__code__.co_filename).resolve().parent / "__pycache__"


def _user_directory() -> Path:
    """Return the user's directory of numba's files; an error where there is no home directory."""
    if "XDG_CACHE_HOME" not in os.environ:
        Path.home()  # numba would make a directory called "~" in the working directory
    return Path(_system(appname="numba", appauthor=False).user_cache_dir)


def private_directory(make: bool) -> Path:
    """Return a temporary directory that stays and that only this user can write to."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"censquant-{user}"
    if make:
        path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    # What is cached is executed: a directory that another user made first must not be trusted.
    if hasattr(os, "getuid") and not (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(f"{path} belongs to another user or can be written to by others.")
    return path


class _Account:
    """Kernels compiled and loaded, and where they were kept.

    Tells the user what takes so long, once compilation has taken more than a moment. numba compiles
    one function at a time, so that begin and end are never mixed up.
    """

    def __init__(self) -> None:
        self._waiting: threading.Timer | None = None
        self._begun = self._seconds = self._reported = 0.0
        self.n_compiled = self.n_loaded = 0
        self.folders: set[Path] = set()
        self._is_said = False

    def begin(self) -> None:
        """Note that a function is about to be compiled."""
        self._begun = time.monotonic()
        if self._is_said:
            remark(_COMPILING)
            return
        # How much lies ahead is not known: it is said as soon as it is more than a moment.
        self._waiting = threading.Timer(max(_SILENT_SECONDS - self._seconds, 0.0), self._say)
        self._waiting.daemon = True
        self._waiting.start()

    def end(self) -> None:
        """Note that it has been compiled."""
        if self._waiting:
            self._waiting.cancel()
        self._seconds += time.monotonic() - self._begun
        self.n_compiled += 1
        if not self._is_said or remark("") or self._seconds < self._reported + _REPORT_SECONDS:
            return
        self._reported = self._seconds
        say(f"{self.n_compiled} kernels compiled in {self._seconds:.0f} s")

    def _say(self) -> None:
        self._is_said = True
        if not remark(_COMPILING):
            say(_COMPILING)


account = _Account()
"""What this process has compiled and loaded so far."""
