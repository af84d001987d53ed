"""How Sphinx builds the site (``make docs``). Its source is the repository: links work here and on the code host."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

from distkern import __version__

project = "distkern"
author = "the authors of distkern"
copyright = author
version = release = __version__
html_title = f"distkern {__version__}"
language = "en"

root_doc = "docs/index"
# the first is that of the pages of the reference
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
include_patterns = [
    "docs/**.md",
    "docs/api/*.rst",
    "notebooks/*.ipynb",
    "deploy/**.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "dist", "site", "distkern", "tests", "benchmarks", "**/.*", "docs/templates"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_design",
    "sphinx_copybutton",
]

# Pages and notebooks. A notebook is committed with its results.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 5
myst_all_links_external = False
suppress_warnings = ["mystnb.unknown_mime_type"]
nb_ipywidgets_js = {}  # pages load nothing from elsewhere

# The reference. Types are in the annotations, not in the docstrings.
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
default_role = "py:obj"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False
templates_path = [str(Path(__file__).parent / "templates")]

# Names of other projects. Each file lists those that docstrings mention: name, kind, page.
INVENTORIES = Path(__file__).parent / "inventories"
intersphinx_mapping = {
    name: (address, str(INVENTORIES / f"{name}.inv"))
    for name, address in {
        "anndata": "https://anndata.readthedocs.io/en/stable",
        "distributed": "https://distributed.dask.org/en/stable",
        "matplotlib": "https://matplotlib.org/stable",
        "numpy": "https://numpy.org/doc/stable",
        "pandas": "https://pandas.pydata.org/docs",
        "python": "https://docs.python.org/3",
        "scanpy": "https://scanpy.readthedocs.io/en/stable",
        "scikit-learn": "https://scikit-learn.org/stable",
        "scikit-survival": "https://scikit-survival.readthedocs.io/en/stable",
        "scipy": "https://docs.scipy.org/doc/scipy",
        "zarr": "https://zarr.readthedocs.io/en/stable",
    }.items()
}

# Every name in backquotes must lead somewhere, but for inner names and those of inherited docstrings.
INNER = "Failure|HoldOut|MOST_THREADS|PairWork|Prepared.*|Progress|SILENT_SECONDS|Waiting|store_status|distkern\\..*"
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r".*"),  # types of annotations
    ("py:obj", rf"({INNER})|input_features|feature_names_in_|\[.*\]|typing\..*"),
]

# Links to other sites: `make outer-links`.
linkcheck_timeout = 30
linkcheck_retries = 3

# The gallery. Its figures are drawn while the site is built.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 120)]
plot_rcparams = {"figure.figsize": (6.4, 4.4), "savefig.bbox": "tight"}
plot_apply_rcparams = True

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["distkern.css"]
html_extra_path = ["front"]
# a sidebar of all names on all their pages would take minutes; pages without parts need none
html_sidebars: dict[str, list[str]] = {
    page: [] for page in ("docs/api/*", "docs/index", "docs/start", "docs/tasks", "docs/gallery")
}
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "distkern"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

os.environ.setdefault("MPLBACKEND", "agg")


def home_of_types() -> dict[str, str]:
    """Documented names of the types of annotations, by the names that annotations may have."""
    homes = dict.fromkeys(("Array", "Floats", "Indices"), "numpy.ndarray")
    for project in ("anndata", "distributed", "matplotlib", "numpy", "pandas", "python"):
        for line in (INVENTORIES / f"{project}.inv").read_text(encoding="utf-8").splitlines()[3:]:
            name, kind, _ = line.split()
            short = name.rpartition(".")[2]
            if name != short and kind in ("class", "data") and (short[0].isupper() or short == "ndarray"):
                homes[short] = name
    return homes


HOMES = home_of_types()
A_TYPE = re.compile(rf"~?(?<![\w.'\"])(?:\w+\.)*({'|'.join(HOMES)})\b(?![\w.'\":=])")
AN_ARRAY = re.compile(r"numpy\.ndarray\[tuple\[[^\[\]]*\], ~?numpy\.dtype\[[^\[\]]*\]\]")


def documented(text: str | None) -> str | None:
    """Write the types of a signature as documented names: ``pandas.DataFrame``, not ``pandas.core.frame.DataFrame``."""
    return text and AN_ARRAY.sub("numpy.ndarray", A_TYPE.sub(lambda found: f"~{HOMES[found[1]]}", text))


def link_types(*event: Any) -> tuple[str | None, str | None]:
    """Let the types of a signature link to the pages of their projects."""
    *_, given, returned = event
    return documented(given), documented(returned)


DIGIT = re.compile(r"(\\[dt]?frac|[_^])(\d)(?=\d)")
"""The first of two digits is an argument of its own in TeX, and not in docutils."""


def formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers draw without a script from elsewhere."""
    block = isinstance(node, nodes.math_block)
    try:
        text = tex2mathml(DIGIT.sub(r"\1{\2}", node.astext()), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s: %s", error, node.astext(), location=node)
        text = translator.encode(node.astext())
    translator.body.append(f'<div class="math">{text}</div>' if block else text)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the functions above."""
    app.connect("autodoc-process-signature", link_types)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))


html_math_renderer = "mathml"
