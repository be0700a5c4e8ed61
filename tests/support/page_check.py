#!/usr/bin/python3
"""Reads a page that sonde report wrote: page_check.py FILE. Every element that is opened is closed in
its turn, and nothing is asked of a network or a script. Prints how many charts there are, and the
headings.
"""

import sys
from html.parser import HTMLParser

EMPTY = {"meta", "line", "rect", "circle", "path"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.charts, self.headings = [], 0, []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "href" and (value or "").startswith("#"):  # a place on the page itself
                continue
            if name in ("src", "href") or name.startswith("on") or "url(" in (value or ""):
                sys.exit(f"page_check: {tag} has {name}")
        if tag in ("script", "link", "iframe", "img"):
            sys.exit(f"page_check: there is a {tag}")
        self.charts += tag == "svg"
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            sys.exit(f"page_check: {tag} is closed and was not open")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def main(path):
    page = Page()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    if page.open:
        sys.exit(f"page_check: not closed: {page.open}")
    print(f"charts: {page.charts}")
    print("\n".join(page.headings))


if __name__ == "__main__":
    main(*sys.argv[1:])
