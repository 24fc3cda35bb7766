"""By what the lists of products and variants are narrowed besides their states: each by an index of its own."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Product, ProductTag, Variant
from apps.ground.folding import folded
from apps.ground.lookups import among
from apps.ground.tenancy import current_shop
from apps.inventory.domain.low import low_items
from apps.panel.screens.filters import Choices, Screen, SelectFilter
from apps.panel.screens.typed_filters import AmountsFilter, DaysFilter, WordFilter


class VendorFilter(WordFilter):
    """By its whole vendor, in any case."""

    title = gettext_lazy("vendor")
    parameter_name = "vendor"

    def fitting(self, rows: QuerySet[Product], values: Sequence[str | None]) -> QuerySet[Product]:  # type: ignore[override]
        """The products of the vendor."""
        return rows.filter(vendor_key=values[0])


class TypeFilter(WordFilter):
    """By its whole type, in any case."""

    title = gettext_lazy("product type")
    parameter_name = "type"

    def fitting(self, rows: QuerySet[Product], values: Sequence[str | None]) -> QuerySet[Product]:  # type: ignore[override]
        """The products of the type."""
        return rows.filter(product_type_key=values[0])


class TagFilter(WordFilter):
    """By one of its tags, in any case."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def fitting(self, rows: QuerySet[Product], values: Sequence[str | None]) -> QuerySet[Product]:  # type: ignore[override]
        """The products with the tag."""
        tags = ProductTag.rows().filter(product=OuterRef("pk"), key=folded(values[0] or ""))
        return rows.filter(Exists(tags))


class CreatedFilter(DaysFilter):
    """By the day on which it was added."""

    title = gettext_lazy("creation")
    parameter_name = "created"
    field = "created_at"


class VariantProductFilter(WordFilter):
    """By the whole title of its product, in any case.

    There is none by vendor: the variants of one are many, and may all stand at the far end of the list.
    """

    title = gettext_lazy("product")
    parameter_name = "product"
    own_order = ("product_id", "position", "pk")

    def fitting(self, rows: QuerySet[Variant], values: Sequence[str | None]) -> QuerySet[Variant]:  # type: ignore[override]
        """The variants of the products of the title."""
        return rows.filter(product__title_key=values[0])


class PriceFilter(AmountsFilter):
    """By its price in the shop's currency."""

    title = pgettext_lazy("filter", "price")
    parameter_name = "price"
    field = "price"


class LowStockFilter(SelectFilter):
    """Those of which few are left at a location, in a shop that says how few.

    What is sold out no index tells: the quantity moves with each sale, and an index of it would make sales dear.
    """

    title = pgettext_lazy("filter", "stock")
    parameter_name = "stock"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """One, beside all."""
        return [("low", _("Low stock"))]

    def has_output(self) -> bool:
        """Where the shop has a number at which stock is low, or somebody asks all the same."""
        return current_shop().low_stock_at is not None or self.value() is not None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Variant]) -> QuerySet[Variant]:
        """The variants whose items are low somewhere."""
        if self.value() != "low":
            return queryset
        return queryset.filter(among(low_items().order_by().values("pk"), "inventory_item"))
