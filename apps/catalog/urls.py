"""REST routes for the catalog and the public image URL."""

from django.urls import path

from apps.catalog.api.collections import (
    CollectionProductViewSet,
    CollectionViewSet,
    CustomCollectionViewSet,
    SmartCollectionProductViewSet,
    SmartCollectionViewSet,
)
from apps.catalog.api.collects import CollectViewSet
from apps.catalog.api.feedback import ProductFeedbackViewSet
from apps.catalog.api.images import ProductImageViewSet
from apps.catalog.api.listings import (
    CollectionListingViewSet,
    CollectionProductIdViewSet,
    ListedProductIdViewSet,
    ProductListingViewSet,
)
from apps.catalog.api.products import ProductViewSet
from apps.catalog.api.variants import ProductVariantViewSet, VariantViewSet
from apps.catalog.storefront import views
from apps.core.rest.routing import api_path, resource_paths

urlpatterns = [
    *resource_paths("products", ProductViewSet),
    *resource_paths("products/<product_id>/variants", ProductVariantViewSet),
    api_path("variants/<id>.json", VariantViewSet, get="retrieve", put="update"),
    *resource_paths("products/<product_id>/images", ProductImageViewSet),
    *resource_paths("custom_collections", CustomCollectionViewSet),
    *resource_paths("smart_collections", SmartCollectionViewSet),
    api_path("smart_collections/<id>/order.json", SmartCollectionViewSet, put="arrange"),
    api_path("smart_collections/<collection_id>/products.json", SmartCollectionProductViewSet, get="list"),
    api_path("collections/<id>.json", CollectionViewSet, get="retrieve"),
    api_path("collections/<collection_id>/products.json", CollectionProductViewSet, get="list"),
    *resource_paths("collects", CollectViewSet, "list", "create", "count", "retrieve", "destroy"),
    *resource_paths("products/<product_id>/resource_feedback", ProductFeedbackViewSet, "list", "create"),
    *resource_paths("product_listings", ProductListingViewSet, "list", "count", "retrieve", "update", "destroy"),
    api_path("product_listings/product_ids.json", ListedProductIdViewSet, get="list"),
    *resource_paths("collection_listings", CollectionListingViewSet, "list", "retrieve", "update", "destroy"),
    api_path("collection_listings/<collection_id>/product_ids.json", CollectionProductIdViewSet, get="list"),
]

# This route is outside the REST API, at the root of the site.
image_urlpatterns = [
    path("content/images/<int:shop_id>/<str:key>/<str:name>", views.serve_image, name="catalog-image"),
]
