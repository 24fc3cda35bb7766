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
from apps.catalog.api.images import ProductImageViewSet
from apps.catalog.api.products import ProductViewSet
from apps.catalog.api.variants import ProductVariantViewSet, VariantViewSet
from apps.catalog.storefront import views
from apps.core.rest.routing import api_path

urlpatterns = [
    api_path("products.json", ProductViewSet, get="list", post="create"),
    api_path("products/count.json", ProductViewSet, get="count"),
    api_path("products/<id>.json", ProductViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("products/<product_id>/variants.json", ProductVariantViewSet, get="list", post="create"),
    api_path("products/<product_id>/variants/count.json", ProductVariantViewSet, get="count"),
    api_path(
        "products/<product_id>/variants/<id>.json",
        ProductVariantViewSet,
        get="retrieve",
        put="update",
        delete="destroy",
    ),
    api_path("variants/<id>.json", VariantViewSet, get="retrieve", put="update"),
    api_path("products/<product_id>/images.json", ProductImageViewSet, get="list", post="create"),
    api_path("products/<product_id>/images/count.json", ProductImageViewSet, get="count"),
    api_path(
        "products/<product_id>/images/<id>.json", ProductImageViewSet, get="retrieve", put="update", delete="destroy"
    ),
    api_path("custom_collections.json", CustomCollectionViewSet, get="list", post="create"),
    api_path("custom_collections/count.json", CustomCollectionViewSet, get="count"),
    api_path("custom_collections/<id>.json", CustomCollectionViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("smart_collections.json", SmartCollectionViewSet, get="list", post="create"),
    api_path("smart_collections/count.json", SmartCollectionViewSet, get="count"),
    api_path("smart_collections/<id>.json", SmartCollectionViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("smart_collections/<id>/order.json", SmartCollectionViewSet, put="arrange"),
    api_path("smart_collections/<collection_id>/products.json", SmartCollectionProductViewSet, get="list"),
    api_path("collections/<id>.json", CollectionViewSet, get="retrieve"),
    api_path("collections/<collection_id>/products.json", CollectionProductViewSet, get="list"),
    api_path("collects.json", CollectViewSet, get="list", post="create"),
    api_path("collects/count.json", CollectViewSet, get="count"),
    api_path("collects/<id>.json", CollectViewSet, get="retrieve", delete="destroy"),
]

# This route is outside the REST API, at the root of the site.
image_urlpatterns = [
    path("content/images/<int:shop_id>/<str:key>/<str:name>", views.serve_image, name="catalog-image"),
]
