"""The one decorator of compiled functions: machine code on disk where possible, never an error.

Importing this module loads numba, so only files that hold kernels import it. A compiled function
that Python calls returns numbers or nothing and writes arrays into its arguments: numba runs Python
code to hand over a new array, and a Ctrl-C that arrives there surfaces as a SystemError.
"""

import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba import njit

_settings: Any = numba.config  # whose names are set when it is loaded, which type checkers miss
_settings_lock = threading.Lock()


def compiled_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function which releases the GIL.

    The machine code is kept where numba keeps it: in ``NUMBA_CACHE_DIR``, beside the source file
    or in the user's cache directory. Where none of them can be written to (a read-only
    installation and no home directory), it is kept in a private temporary directory; where that
    is impossible too, or the disk is full, every process compiles for itself.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        if dispatcher is not function:  # which it is with NUMBA_DISABLE_JIT=1
            _keep_on_disk(dispatcher)
        return dispatcher

    return decorate


compiled = compiled_with()
"""Decorator for kernels that check what they divide by."""

exact = compiled_with(error_model="numpy")
"""Decorator for kernels that divide as numpy does: by zero to infinity, and every limit exact."""

# LLVM may use vector registers then, and may assume that no NaN or infinity occurs: the training
# loop looks for non-finite values itself.
fast = compiled_with(fastmath=True, error_model="numpy")
"""Decorator for the kernels of training."""


def _keep_on_disk(dispatcher: Any) -> None:
    """Give a compiled function a cache on disk if there is a directory for it."""
    directories = [None, private_directory]
    if not _settings.CACHE_DIR and not _home_is_known():
        # numba would make a directory called "~" in the working directory.
        directories = [private_directory]
    for directory in directories:
        try:
            with _cache_dir(directory() if directory else None):
                dispatcher.enable_caching()
        except (RuntimeError, OSError):  # numba found no directory that can be written to
            continue
        dispatcher._cache = _ForgivingCache(dispatcher._cache)
        return


def _home_is_known() -> bool:
    """Whether there is a path to the user's cache directory, be it writable or not."""
    try:
        return "XDG_CACHE_HOME" in os.environ or bool(Path.home())
    except RuntimeError:
        return False


@contextmanager
def _cache_dir(path: str | None) -> Iterator[None]:
    """Let functions decorated meanwhile be kept in a directory; None changes nothing."""
    with _settings_lock:
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = path or before
        try:
            yield
        finally:
            _settings.CACHE_DIR = before


def private_directory() -> str:
    """Return a temporary directory that stays and that only this user can write to."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"censquant-{user}"
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    # What is cached is executed: a directory that another user made first must not be trusted.
    if hasattr(os, "getuid") and not (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(f"{path} belongs to another user or can be written to by others.")
    return str(path)


class _ForgivingCache:
    """A function's cache on disk whose failures cost a compilation and nothing else."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # a damaged file may raise anything
            self._forget()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            self._cache.save_overload(signature, result)
        except OSError:
            self._forget()

    def _forget(self) -> None:
        # The index is written before the code: it may name a file that was not written, and in its
        # place there may be the code of an older source.
        with suppress(OSError):
            Path(self._cache._cache_file._index_path).unlink()
