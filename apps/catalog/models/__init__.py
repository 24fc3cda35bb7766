from apps.catalog.models.collections import Collect, Collection, CustomCollection, ManualPlace, SmartCollection
from apps.catalog.models.delayed_updates import DelayedUpdate
from apps.catalog.models.feedback import ProductFeedback
from apps.catalog.models.listings import CollectionListing, ProductListing
from apps.catalog.models.products import Product, ProductImage, ProductOption, ProductRank, ProductTag
from apps.catalog.models.variants import Variant
