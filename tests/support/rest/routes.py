from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver

from backoffice import api_urls

# Routes without authentication.
PUBLIC = {"GET openapi.json"}


# API routes without a version.
ABSOLUTE = [entry for entry in api_urls.urlpatterns if hasattr(getattr(entry, "callback", None), "cls")]


@dataclass(frozen=True)
class Route:
    name: str
    view: Any
    action: str

    @property
    def scopes(self) -> tuple[str, ...]:
        view = self.view()
        view.action = self.action
        return view.get_scopes(self.name.split(" ")[0])


def get_all_routes() -> list[Route]:
    routes = []
    for pattern, callback in [*_iterate_patterns(api_urls.resources, ""), *_iterate_patterns(ABSOLUTE, "/")]:
        if not hasattr(callback, "cls"):
            assert f"GET {pattern}" in PUBLIC, f"{pattern} is no route of a viewset and not listed as public"
            continue
        routes += [
            Route(f"{method.upper()} {pattern}", callback.cls, action)
            for method, action in callback.actions.items()
            if method != "head"
        ]
    return routes


def _iterate_patterns(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for entry in patterns:
        text = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _iterate_patterns(entry.url_patterns, text)
        elif isinstance(entry, URLPattern):
            yield text.replace("<id:", "<"), entry.callback
