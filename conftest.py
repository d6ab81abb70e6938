"""Set-up shared by all tests."""

import os
import signal

# Lets scikit-learn run its check of array-API input instead of skipping it; read when scipy loads.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import settings

# The same examples in every run, so that a clone passes or fails by its code alone;
# `make test-all` looks for new ones. The first example may have to compile a kernel, so none has a
# deadline.
settings.register_profile("same_examples", derandomize=True, deadline=None)
settings.register_profile("new_examples", deadline=None)
settings.load_profile("same_examples")

# A shell starts background jobs with Ctrl-C ignored, which the tests of Ctrl-C would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread():
    """Two torch threads on a busy two-core machine are many times slower than one."""
    try:
        from torch import set_num_threads
    except ImportError:
        # The tests of the oldest versions and of the wheel run without it.
        return
    set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite-pages",
        action="store_true",
        help="write what code and commands print into README and pages that show something else",
    )


@pytest.fixture
def rewrite_pages(request):
    """Whether pages are rewritten instead of compared."""
    return request.config.getoption("--rewrite-pages")
