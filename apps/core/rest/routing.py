"""URL routes for the REST API, resolved with one dictionary lookup.

An app's ``urls.py`` contains the standard routes of its resources (``resource_paths``) and additional routes such as
``api_path("orders/<id>/close.json", OrderViewSet, post="close")``.
Ids in paths are decimal numbers of at most 64 bits; any other path is a 404.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from django.urls import ResolverMatch, URLPattern, URLResolver, path, register_converter
from django.urls.converters import get_converters
from django.urls.resolvers import RoutePattern

from apps.core.rest.viewsets import ApiView

_ARGUMENT = re.compile(r"<id:(\w+)>")
_STANDARD_ACTIONS = {
    "": {"get": "list", "post": "create"},
    "/count": {"get": "count"},
    "/<id>": {"get": "retrieve", "put": "update", "delete": "destroy"},
}
WITHOUT_COUNT = ("list", "create", "retrieve", "update", "destroy")


class IdConverter:
    """A positive 64-bit number in decimal digits, without leading zeros."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        """Parse the number. Numbers above the maximum of a 64-bit column do not match the route."""
        number = int(value)
        if number >= 2**63:
            raise ValueError(value)
        return number

    def to_url(self, value: int) -> str:
        return str(value)


if "id" not in get_converters():
    register_converter(IdConverter, "id")


def api_path(pattern: str, view: type[ApiView], **actions: str) -> URLPattern:
    """Create the URL pattern of a viewset. ``actions`` maps HTTP methods to methods of the view.

    The pattern is the path after the version. ``<id>`` is the resource's own id, ``<blog_id>`` is the id of a parent.
    """
    return path(pattern.replace("<", "<id:"), view.as_view(dict(actions)))


def resource_paths(prefix: str, view: type[ApiView], *actions: str) -> Iterator[URLPattern]:
    """Yield the URL patterns of a resource for the named standard actions, by default for all of them."""
    for suffix, standard in _STANDARD_ACTIONS.items():
        served = {method: action for method, action in standard.items() if not actions or action in actions}
        if served:
            yield api_path(f"{prefix}{suffix}.json", view, **served)


class VersionedResolver(URLResolver):
    """A resolver for all routes under ``admin/api/<version>/`` that uses one dictionary lookup.

    Django tries patterns one by one. With about 150 routes, this takes longer than a database query. This resolver maps
    the shape of a path (the path with ``<>`` in place of numbers) to the route. Paths with an unknown shape use
    Django's search, which finds no match.
    """

    PREFIX = "admin/api/"

    def __init__(self, routes: list[URLPattern | URLResolver]) -> None:
        super().__init__(RoutePattern(f"{self.PREFIX}<str:version>/"), routes)

    def resolve(self, path: str) -> ResolverMatch:
        version, _, below = path.removeprefix(self.PREFIX).partition("/")
        if path.startswith(self.PREFIX) and version:
            shape, numbers = _split_path(below)
            match = self._table.get(shape)
            if match is not None:
                names, entry = match
                arguments = {"version": version, **dict(zip(names, numbers, strict=True))}
                return ResolverMatch(
                    entry.callback,
                    (),
                    arguments,
                    # Do not add the prefix, because the parent resolver adds it.
                    route=str(entry.pattern),
                    captured_kwargs=arguments,
                    extra_kwargs={},
                )
        return super().resolve(path)

    @cached_property
    def _table(self) -> dict[str, tuple[tuple[str, ...], URLPattern]]:
        table: dict[str, tuple[tuple[str, ...], URLPattern]] = {}
        for entry in _flatten_patterns(self.url_patterns):
            pattern = str(entry.pattern)
            table.setdefault(_ARGUMENT.sub("<>", pattern), (tuple(_ARGUMENT.findall(pattern)), entry))
        return table


def _flatten_patterns(patterns: Iterable[URLPattern | URLResolver]) -> list[URLPattern]:
    """Flatten a tree of includes with empty prefixes into a list of patterns."""
    leaves: list[URLPattern] = []
    for entry in patterns:
        leaves += _flatten_patterns(entry.url_patterns) if isinstance(entry, URLResolver) else [entry]
    return leaves


def _split_path(below: str) -> tuple[str, list[int]]:
    """Split a path (without the version) into its shape and numbers; invalid numbers remain in the shape."""
    segments, numbers = [], []
    for segment in below.split("/"):
        digits, dot, rest = segment.partition(".")
        if digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) < 20 and int(digits) < 2**63:
            segments.append(f"<>{dot}{rest}")
            numbers.append(int(digits))
        else:
            # No route contains a literal "<". Escape "<" in paths, so that "<>" in a path cannot match a number.
            segments.append(segment.replace("<", "%3C"))
    return "/".join(segments), numbers
