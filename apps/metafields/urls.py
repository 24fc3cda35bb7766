"""The routes of metafields: the same six for every registered owner, and those of the shop at the top.

Imported once every domain has registered its owners.
"""

from collections.abc import Iterator

from django.urls import URLPattern

from apps.api.routing import route
from apps.metafields.api.metafields import AnyMetafieldViewSet, MetafieldViewSet, viewset_for
from apps.metafields.domain.owners import all_owners


def _routes(prefix: str, view: type[MetafieldViewSet]) -> Iterator[URLPattern]:
    yield route(f"{prefix}metafields.json", view, get="list", post="create")
    yield route(f"{prefix}metafields/count.json", view, get="count")
    yield route(f"{prefix}metafields/<id>.json", view, get="retrieve", put="update", delete="destroy")


urlpatterns = [
    *_routes("", AnyMetafieldViewSet),
    *(
        pattern
        for owner in all_owners()
        if owner.path
        for pattern in _routes(f"{owner.path}/<owner_id>/", viewset_for(owner))
    ),
    *(
        pattern
        for owner in all_owners()
        for path, model in owner.kinds.items()
        for pattern in _routes(f"{path}/<owner_id>/", viewset_for(owner, path, model))
    ),
    *(
        route(f"{owner.below}/<owner_id>/metafields/count.json", viewset_for(owner, owner.below), get="count")
        for owner in all_owners()
        if owner.below
    ),
]
