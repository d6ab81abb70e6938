"""Files of the repository that belong on the site too, and links from pages to them.

Pages in docs/ link to other files of the repository by relative paths, so that the links work where
the repository is browsed. On the site such a file is a page, made before the build, or a download.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PAGES = {
    ROOT / "ARCHITECTURE.md": "architecture",
    ROOT / "CHANGELOG.md": "changelog",
    ROOT / "CONTRIBUTING.md": "contributing",
    ROOT / "SECURITY.md": "security",
    ROOT / "src" / "censquant" / "_engine" / "training" / "README.md": "engine",
    **{
        path: f"results-{path.stem.replace('_', '-')}"
        for path in sorted((ROOT / "bench" / "results").glob("*.md"))
    },
}
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def with_links_of_the_site(text, origin, page):
    """Markdown of a file whose links to files of the repository lead to pages of the site.

    Parameters
    ----------
    text : str
    origin : Path
        Where the text lies in the repository.
    page : Path
        Where it lies as a source of the site.
    """

    def replace(match):
        target = (origin.parent / match[1]).resolve()
        if target in PAGES:
            place = made(target)
        elif target.is_dir() or target.name == "LICENSE":
            return f"] (`{target.relative_to(ROOT)}`)"
        else:
            place = target
        return f"]({os.path.relpath(place, page.parent)}{match[2] or ''})"

    return LINK.sub(replace, text)


def made(path):
    """Page of the site that is made of a file of the repository."""
    return DOCS / "generated" / "repository" / f"{PAGES[path]}.md"


def make_pages(app, config):
    """Write the pages; those that did not change keep their date, so that nothing is read twice."""
    for path in PAGES:
        page = made(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^# ", text, re.MULTILINE):
            text = f"# Results: {path.stem.replace('_', ' ')}\n\n{text}"
        text = with_links_of_the_site(text, path, page)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def read_page(app, docname, source):
    """Let the links of a page in docs/ lead to the pages that were made."""
    path = DOCS / f"{docname}.md"
    if path.is_file() and not docname.startswith("generated/"):
        source[0] = with_links_of_the_site(source[0], path, path)


def setup(app):
    """Make the pages before Sphinx looks for its sources."""
    app.connect("config-inited", make_pages)
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
