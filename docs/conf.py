"""Settings of the documentation site; ``make docs`` builds it, offline, with warnings as errors."""

import sys
import warnings
from pathlib import Path

import matplotlib as mpl

import censquant

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
mpl.use("agg")

project = "censquant"
author = "The censquant developers"
project_copyright = author
release = version = censquant.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Own ones, in _extensions:
    "api_pages",
    "mathml",
    "places",
    "repository_files",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/README.md"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings state types and shapes
# Contents beside a page name methods without their class.
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["generated/gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    # Values of last lines, but not those of drawing: "<matplotlib.legend.Legend object at ...>".
    "capture_repr": ("_repr_html_",),
}
# Examples are pages too: what they print is shown, warnings included.
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")

html_theme = "pydata_sphinx_theme"
html_title = f"censquant {version}"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
copybutton_exclude = ".linenos, .gp, .go"
html_show_sourcelink = False
html_math_renderer = "mathml"
