"""The routes of the catalog, as the specification writes them, and the addresses of pictures."""

from django.urls import path

from apps.api.routing import route
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
from apps.catalog.public import views

urlpatterns = [
    route("products.json", ProductViewSet, get="list", post="create"),
    route("products/count.json", ProductViewSet, get="count"),
    route("products/<id>.json", ProductViewSet, get="retrieve", put="update", delete="destroy"),
    route("products/<product_id>/variants.json", ProductVariantViewSet, get="list", post="create"),
    route("products/<product_id>/variants/count.json", ProductVariantViewSet, get="count"),
    route(
        "products/<product_id>/variants/<id>.json",
        ProductVariantViewSet,
        get="retrieve",
        put="update",
        delete="destroy",
    ),
    route("variants/<id>.json", VariantViewSet, get="retrieve", put="update"),
    route("products/<product_id>/images.json", ProductImageViewSet, get="list", post="create"),
    route("products/<product_id>/images/count.json", ProductImageViewSet, get="count"),
    route(
        "products/<product_id>/images/<id>.json", ProductImageViewSet, get="retrieve", put="update", delete="destroy"
    ),
    route("custom_collections.json", CustomCollectionViewSet, get="list", post="create"),
    route("custom_collections/count.json", CustomCollectionViewSet, get="count"),
    route("custom_collections/<id>.json", CustomCollectionViewSet, get="retrieve", put="update", delete="destroy"),
    route("smart_collections.json", SmartCollectionViewSet, get="list", post="create"),
    route("smart_collections/count.json", SmartCollectionViewSet, get="count"),
    route("smart_collections/<id>.json", SmartCollectionViewSet, get="retrieve", put="update", delete="destroy"),
    route("smart_collections/<id>/order.json", SmartCollectionViewSet, put="arrange"),
    route("smart_collections/<collection_id>/products.json", SmartCollectionProductViewSet, get="list"),
    route("collections/<id>.json", CollectionViewSet, get="retrieve"),
    route("collections/<collection_id>/products.json", CollectionProductViewSet, get="list"),
    route("collects.json", CollectViewSet, get="list", post="create"),
    route("collects/count.json", CollectViewSet, get="count"),
    route("collects/<id>.json", CollectViewSet, get="retrieve", delete="destroy"),
]

# Below the root, beside the interface.
picture_urlpatterns = [
    path("content/images/<int:shop_id>/<str:key>/<str:name>", views.image, name="catalog-image"),
]
