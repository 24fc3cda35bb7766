"""URL routes for metafields: a path under each registered owner type, and ``/metafields``.

This module must be imported after all apps have registered their owner types.
"""

from apps.core.rest.routing import api_path, resource_paths
from apps.metafields.api.metafields import AnyMetafieldViewSet, create_viewset
from apps.metafields.domain.owners import owner_types

urlpatterns = [
    *resource_paths("metafields", AnyMetafieldViewSet),
    *(
        pattern
        for owner in owner_types.values()
        if owner.path
        for pattern in resource_paths(f"{owner.path}/<owner_id>/metafields", create_viewset(owner))
    ),
    *(
        pattern
        for owner in owner_types.values()
        for path, model in owner.extra_paths.items()
        for pattern in resource_paths(f"{path}/<owner_id>/metafields", create_viewset(owner, path, model))
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
