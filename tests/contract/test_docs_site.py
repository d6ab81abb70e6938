"""The documentation site has a place for everything; ``make docs`` builds it and finds the rest."""

import importlib.util
import re
from pathlib import Path

import pytest
from test_public_api import MODULES

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = sorted((DOCS.parent / "examples" / "gallery").glob("*.py"))
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "generated" not in path.parts]


def extension(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_api_has_every_public_package():
    assert sorted(extension("api_pages").PARTS) == sorted([*MODULES, "censquant_bench"])


def test_every_page_is_in_the_table_of_contents():
    listed = [
        entry
        for page in PAGES
        for tree in re.findall(
            r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        )
        for entry in tree.splitlines()
    ]
    names = [str(path.relative_to(DOCS).with_suffix("")) for path in PAGES]
    left_out = [n for n in names if not any(Path(n).match(entry) for entry in listed if entry)]
    assert left_out == ["index"]


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_of_the_gallery_are_run_by_the_build(path):
    assert path.name.startswith("plot_")


def test_links_to_files_of_the_repository_lead_to_pages_of_the_site():
    links = extension("repository_files")
    text = "[a](../ARCHITECTURE.md#layers), [b](metrics.md) and [c](https://example.org)"
    page = DOCS / "index.md"
    assert links.with_links_of_the_site(text, page, page) == (
        "[a](generated/repository/architecture.md#layers), [b](metrics.md) and "
        "[c](https://example.org)"
    )


def test_a_place_for_a_page_that_is_not_written_is_left_out():
    text = "quickstart*\nnot-written-yet*\nmethods\n"
    assert extension("places").without_empty_places(text) == "quickstart*\nmethods\n"


def test_the_page_on_validation_prints_what_the_checks_compute(rewrite_pages):
    path, made = DOCS / "validation.md", extension("validation_page").page()
    if rewrite_pages:
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made
