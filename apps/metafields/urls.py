"""URL routes for metafields: a path under each registered owner type, and ``/metafields``.

This module must be imported after all apps have registered their owner types.
"""

from collections.abc import Iterator

from django.urls import URLPattern

from apps.core.rest.routing import api_path
from apps.metafields.api.metafields import AnyMetafieldViewSet, MetafieldViewSet, create_viewset
from apps.metafields.domain.owners import owner_types


def _routes(prefix: str, view: type[MetafieldViewSet]) -> Iterator[URLPattern]:
    yield api_path(f"{prefix}metafields.json", view, get="list", post="create")
    yield api_path(f"{prefix}metafields/count.json", view, get="count")
    yield api_path(f"{prefix}metafields/<id>.json", view, get="retrieve", put="update", delete="destroy")


urlpatterns = [
    *_routes("", AnyMetafieldViewSet),
    *(
        pattern
        for owner in owner_types.values()
        if owner.path
        for pattern in _routes(f"{owner.path}/<owner_id>/", create_viewset(owner))
    ),
    *(
        pattern
        for owner in owner_types.values()
        for path, model in owner.extra_paths.items()
        for pattern in _routes(f"{path}/<owner_id>/", create_viewset(owner, path, model))
    ),
    *(
        api_path(
            f"{owner.nested_path}/<owner_id>/metafields/count.json",
            create_viewset(owner, owner.nested_path),
            get="count",
        )
        for owner in owner_types.values()
        if owner.nested_path
    ),
]
