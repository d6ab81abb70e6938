"""A browser for tests of pages; without one they are left out, and the summary says so."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HERE = Path(__file__).parent

try:
    from playwright.sync_api import sync_playwright
except ImportError:  # the tests of the oldest versions and of the wheel run without it
    sync_playwright = None

REASON = (
    "" if CHROMIUM and sync_playwright else "tests/pages are left out: no chromium or playwright"
)


def pytest_ignore_collect(collection_path):
    """Leave out the tests where there is no browser."""
    return True if REASON and collection_path.name.startswith("test_") else None


def pytest_terminal_summary(terminalreporter):
    """Say that tests were left out."""
    if REASON:
        terminalreporter.write_line(REASON)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as driver:
        # Containers run tests as root, where the sandbox cannot start.
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
