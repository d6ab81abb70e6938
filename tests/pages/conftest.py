"""A browser for tests of pages; without one they are left out, and the summary says so."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HERE = Path(__file__).parent

try:
    import axe_playwright_python  # noqa: F401
    from playwright.sync_api import sync_playwright
except ImportError:  # the tests of the oldest versions and of the wheel run without them
    sync_playwright = None

REASON = (
    ""
    if CHROMIUM and sync_playwright
    else "tests/pages are left out: no chromium, playwright or axe-playwright-python"
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


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Places of a clinical and of a reliability report, with and without a panel."""
    from censquant.report import write_report
    from report_rows import (
        calibrated,
        calibrated_by_load,
        calibrated_early,
        calibrated_fleet,
        new_rows,
        plain,
    )

    folder, (X, y) = tmp_path_factory.mktemp("pages"), new_rows()
    common = {"n_resamples": 4, "unit": "days"}
    write_report(calibrated(), X, y, folder / "clinical.html", individuals=[5, 1], **common)
    fleet = {"preset": "reliability", "early_cost": 1.0, "late_cost": 5.0}
    write_report(plain(), X[["temp", "load"]], y, folder / "fleet.html", **common, **fleet)
    numbers, place = X[["temp", "load"]], folder / "calibrated_fleet.html"
    write_report(calibrated_fleet(), numbers, y, place, risk=0.05, **common, **fleet)
    write_report(calibrated_early(), numbers, y, folder / "early.html", **common)
    for name, options in (("clinical", {"individuals": [5, 1]}), ("fleet", fleet)):
        place = folder / f"{name}_without_panel.html"
        assert not write_report(calibrated_by_load(), X, y, place, **common, **options).has_panel
    return folder


@pytest.fixture
def opened(pages, browser, request):
    """Open a page by name; the test fails if it complains or asks for anything."""
    said, asked, contexts = [], [], []

    def open_page(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda sent: asked.append(sent.url))
        page.goto((pages / name).as_uri())
        if options.get("java_script_enabled", True):  # the model is unpacked in the background
            page.wait_for_function("!document.querySelector('.panel') || window.censquantPanel")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert all(
        url.startswith("file:") and url.endswith(".html") for url in asked if "blob:" not in url
    )
