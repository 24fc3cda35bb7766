"""Routes of the panel that belong to no model. Apps register their routes in ``admin``."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from django.http import HttpRequest, HttpResponseBase

from apps.core.registry import Registry


@dataclass(frozen=True, slots=True)
class PanelRoute:
    """A route with its name. All staff of the shop may open the view, unless the view checks more."""

    name: str
    route: str
    view: Callable[[HttpRequest], HttpResponseBase]


panel_routes = Registry[str, PanelRoute]("panel routes", get_key=attrgetter("name"))
