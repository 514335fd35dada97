"""How Sphinx makes the documentation site. `scripts/build_site.py` calls it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "examples" / "papers", ROOT / "docs" / "extensions", ROOT):
    sys.path.insert(0, str(folder))  # examples import each other

from gallery import settings  # noqa: E402

from neurodriver import __version__  # noqa: E402

project = "neurodriver"
author = copyright = "the neurodriver developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "repository",
    "contents",
    "formulas",
    "model_pages",
    "api_pages",
]
exclude_patterns = ["conf.py", "extensions"]
highlight_language = "none"
default_role = "obj"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings say them
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = settings(Path(os.environ["SITE_EXAMPLES"]))

html_theme = "pydata_sphinx_theme"
html_title = "neurodriver"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 9,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
