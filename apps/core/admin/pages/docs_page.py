"""Serve the staff guide in ``docs/`` and its images as pages of the panel. The guide works without internet access."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import override
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.core.admin.palette.matching import PaletteQuery
from apps.core.admin.palette.search import search_functions
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import SearchResult
from apps.core.i18n.formats import ENGLISH

_FOLDER = Path(settings.BASE_DIR, "docs")
# Pages of the guide. In the panel, links to other documents become plain text.
PAGES = ("staff", "imports", "moving-a-store")
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_IMAGE_PATH = re.compile(r"images/([\w-]+\.png)")


@dataclass(frozen=True, slots=True)
class Guide:
    """A rendered page of the guide: title, sections (anchor and heading) and HTML."""

    title: str
    sections: list[tuple[str, str]]
    html: SafeString


def render_help_page(request: HttpRequest, base: Context, name: str = "staff") -> TemplateResponse:
    if name not in PAGES:
        raise Http404
    guide = _render_guide(name, reverse("admin:index"))
    return TemplateResponse(request, "panel/help.html", {**base, "title": _("Help"), "guide": guide})


def serve_help_image(request: HttpRequest, name: str) -> FileResponse:
    """Serve an image of the guide. The URL pattern restricts ``name`` to names of PNG files."""
    path = _FOLDER / "images" / name
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png", headers={"Cache-Control": "private, max-age=300"})


@search_functions.add
def find_headings(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    with override(ENGLISH):
        query = PaletteQuery(term)
    matches = [(rank, *entry) for entry in _list_headings() if (rank := query.rank_page(entry[1], "", "")) is not None]
    for _rank, name, heading in sorted(matches, key=lambda match: match[0]):
        link = f"{reverse('admin:help_page', args=(name,))}#{slugify(heading)}"
        yield SearchResult(title=heading, description=_("Help"), link=link, icon="help")


@cache
def _list_headings() -> list[tuple[str, str]]:
    return [(name, heading) for name in PAGES for heading in _HEADING.findall(_read_source(name))]


def _read_source(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text()


@lru_cache(maxsize=64)
def _render_guide(name: str, root: str) -> Guide:
    """Render a page of the guide. Links and images use URLs that start with the panel URL ``root``."""
    markdown = MarkdownIt().enable("table")
    tokens, sections, title = markdown.parse(_read_source(name)), [], ""
    for token, inline_token in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            title = inline_token.content
        elif token.type == "heading_open":
            token.attrSet("id", slugify(inline_token.content))
            sections += [(slugify(inline_token.content), inline_token.content)] if token.tag == "h2" else []
    # Skip the first heading, because the page template shows it as the title.
    body = tokens[3:] if title and tokens[0].tag == "h1" else tokens
    for token in body:
        for child in token.children or ():
            _rewrite_target(child, root)
    return Guide(title, sections, mark_safe(markdown.renderer.render(body, markdown.options, {})))  # noqa: S308 - ours


def _rewrite_target(token: Token, root: str) -> None:
    if token.type == "image" and (image_match := _IMAGE_PATH.fullmatch(str(token.attrGet("src")))):
        token.attrSet("src", f"{root}help/images/{image_match[1]}")
        token.attrSet("loading", "lazy")
        # Set the image size so that headings do not move while images load.
        for name, pixels in zip(("width", "height"), _read_image_size(image_match[1]), strict=True):
            token.attrSet(name, str(pixels))
    if token.type == "link_open":
        page, _mark, anchor = str(token.attrGet("href")).partition("#")
        if page.removesuffix(".md") in PAGES:
            token.attrSet("href", f"{root}help/{page.removesuffix('.md')}/{'#' if anchor else ''}{anchor}")
        elif page.endswith(".md"):
            token.attrs.pop("href")


def _read_image_size(name: str) -> tuple[int, int]:
    """Return the width and height in pixels from the header of a PNG file."""
    head = (_FOLDER / "images" / name).read_bytes()[16:24]
    return int.from_bytes(head[:4]), int.from_bytes(head[4:])
