"""Sphinx configuration: Markdown by MyST, no network, no extension beyond it."""

from clusterwright import __version__

project = "clusterwright"
author = "the clusterwright authors"
copyright = "the clusterwright authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"clusterwright {__version__}"
nitpicky = True
smartquotes = False  # they would turn --list into a dash
