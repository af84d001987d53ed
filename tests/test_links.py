"""Links lead to files and headings that exist; pages on the design name modules and floors that exist."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
)

pytestmark = pytest.mark.skipif(not (ROOT / "distkern").is_dir(), reason="pages link to the source tree")


def prose(path):
    """Text of a page without its code blocks."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(path):
    assert list(broken(path)) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](#here) [b](#there) [c](nowhere.md) [d](https://example.org)\n```\n[e](code.md)\n```\n")
    assert list(broken(page)) == ["#there", "nowhere.md"]


@pytest.mark.parametrize(
    "path", [page for page in PAGES if page.parent.name in ("docs", "decisions")], ids=lambda path: path.name
)
def test_modules_named_in_a_page_exist(path):
    named = re.findall(r"`((?:distkern/)?[a-z]\w*(?:/\w+)*/\w+\.py)`", prose(path))
    roots = (ROOT, ROOT / "distkern")
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_design_lists_the_floors_of_the_contract():
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|", (ROOT / "docs" / "design.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [re.findall(r"\w+", row) for row in rows] == [re.findall(r"\w+", layer) for layer in layers]
