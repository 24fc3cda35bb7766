"""Routes, written exactly as the specification writes them, and found by looking up the shape of a path.

``urls.py`` of an app lists ``route("script_tags/<id>.json", ScriptTagViewSet, get="retrieve")``. Ids in paths are plain
numbers of at most 64 bits; everything else is no route and therefore 404.
"""

from collections.abc import Iterable
from functools import cached_property

from django.urls import ResolverMatch, URLPattern, URLResolver, path, register_converter
from django.urls.converters import get_converters
from django.urls.resolvers import RoutePattern

from apps.api.viewsets import ApiView


class IdConverter:
    """A positive 64-bit number in plain digits, without leading zeros."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        """The number; too large a one matches nothing."""
        number = int(value)
        if number >= 2**63:
            raise ValueError(value)
        return number

    def to_url(self, value: int) -> str:
        """Its digits."""
        return str(value)


if "id" not in get_converters():
    register_converter(IdConverter, "id")


def route(pattern: str, view: type[ApiView], **actions: str) -> URLPattern:
    """A route of a viewset.

    Args:
        pattern: The path below the version, with ``<id>`` for the resource's own id and ``<blog_id>`` and the like for
            a parent's.
        view: The viewset.
        actions: The view's method by HTTP method, e.g. ``get="list", post="create"``.
    """
    converted = _with_converters(pattern)
    return path(converted, view.as_view(dict(actions)))


def _with_converters(pattern: str) -> str:
    """``<blog_id>`` reads as ``<id:blog_id>``."""
    out = pattern
    for part in _arguments(pattern):
        out = out.replace(f"<{part}>", f"<id:{part}>")
    return out


def _arguments(pattern: str) -> list[str]:
    return [piece.split(">")[0] for piece in pattern.split("<")[1:]]


class Versioned(URLResolver):
    """All routes below ``admin/api/<version>/``, found without trying one after the other.

    Django tries patterns in their order, which with some 150 routes costs more than a query. A path of the interface
    has a shape: its segments, with ``<>`` for numbers. One dictionary leads from the shape to the route; whatever it
    does not know, Django's own search answers (with no match).
    """

    PREFIX = "admin/api/"

    def __init__(self, routes: list[URLPattern | URLResolver]) -> None:
        """Take the routes below the version."""
        super().__init__(RoutePattern(f"{self.PREFIX}<str:version>/"), routes)

    def resolve(self, path: str) -> ResolverMatch:
        """The view of a path, and its arguments."""
        version, _, below = path.removeprefix(self.PREFIX).partition("/")
        if path.startswith(self.PREFIX) and version:
            shape, numbers = _shape(below)
            found = self._table.get(shape)
            if found is not None:
                names, entry = found
                arguments = {"version": version, **dict(zip(names, numbers, strict=True))}
                return ResolverMatch(
                    entry.callback,
                    (),
                    arguments,
                    # What is around us puts our own pattern before it.
                    route=str(entry.pattern),
                    captured_kwargs=arguments,
                    extra_kwargs={},
                )
        return super().resolve(path)

    @cached_property
    def _table(self) -> dict[str, tuple[tuple[str, ...], URLPattern]]:
        table: dict[str, tuple[tuple[str, ...], URLPattern]] = {}
        for entry in _leaves(self.url_patterns):
            names = tuple(argument.removeprefix("id:") for argument in _arguments(str(entry.pattern)))
            shape = "/".join(_blank(segment) for segment in str(entry.pattern).split("/"))
            table.setdefault(shape, (names, entry))
        return table


def _leaves(patterns: Iterable[URLPattern | URLResolver]) -> list[URLPattern]:
    """The patterns in a tree of includes whose prefixes are all empty."""
    found: list[URLPattern] = []
    for entry in patterns:
        found += _leaves(entry.url_patterns) if isinstance(entry, URLResolver) else [entry]
    return found


def _blank(segment: str) -> str:
    """``<id:id>.json`` as ``<>.json``."""
    return f"<>{segment.partition('>')[2]}" if segment.startswith("<") else segment


def _shape(below: str) -> tuple[str, list[int]]:
    """The shape of a path below the version, and its numbers; what only looks like a number stays as it is."""
    segments, numbers = [], []
    for segment in below.split("/"):
        digits, dot, rest = segment.partition(".")
        if digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) < 20 and int(digits) < 2**63:
            segments.append(f"<>{dot}{rest}")
            numbers.append(int(digits))
        else:
            # No route has a "<" of its own; one in a path must not pass for a number's place.
            segments.append(segment.replace("<", "%3C"))
    return "/".join(segments), numbers
