"""Parse an HTML page, and check that it is self-contained and accessible."""

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Collects the visible text and all tags with their attributes; fails if tags are not nested."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "svg" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def assert_self_contained(page, text):
    """Check that a page loads nothing else, and that screen readers can read it."""
    assert page.all("html")[0]["lang"] == "en"
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe", "object", "embed", "img")]
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "data", "action", "poster", "srcset"):
                assert value.startswith(("#", "data:image/png;base64,")), (tag, name)
    assert "@import" not in text
    assert "url(http" not in text
    pictures = page.all("svg")
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert len(attrs["aria-label"]) > 30
    for attrs in page.all("th"):
        assert attrs["scope"] in ("row", "col")
    assert len(page.all("caption")) == len(page.all("table"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
