from apps.core.rest.routing import resource_paths
from apps.store_imports.api.store_imports import MappedIdViewSet, StoreImportViewSet

urlpatterns = [
    *resource_paths("store_imports", StoreImportViewSet, "list", "count", "retrieve"),
    *resource_paths("store_imports/<store_import_id>/mapped_ids", MappedIdViewSet, "list", "count"),
]
