"""List filters for products and variants, each backed by an index."""

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Product, ProductTag, Variant
from apps.core.admin.lists.filters import Choices, Screen, SelectFilter, ViewsFilter
from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter, WordFilter
from apps.core.db.case_folding import casefold_text
from apps.core.db.lookups import in_materialized
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain.low_stock import get_low_items

M = TypeVar("M", bound=Model)
_PRODUCT_VIEWS = (Product.Status.ACTIVE, Product.Status.DRAFT, Product.Status.ARCHIVED)


class ViewFilter(ViewsFilter):
    """The views of the product list.

    There is no view for sold-out products, because it would need an index on the quantity.
    """

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("all", _("All")), *((view.value, str(view.label)) for view in _PRODUCT_VIEWS)]

    def filter_view(self, queryset: QuerySet[Product], view: str) -> QuerySet[Product]:
        return queryset.filter(status=view)


class _ExactFilter(WordFilter):
    """Filter by the exact value of a case-folded column."""

    column: str

    def filter_rows(self, rows: QuerySet[M], values: Sequence[str | None]) -> QuerySet[M]:
        return rows.filter(**{self.column: values[0]})


class VendorFilter(_ExactFilter):
    title = gettext_lazy("vendor")
    parameter_name = "vendor"
    column = "vendor_key"


class TypeFilter(_ExactFilter):
    title = gettext_lazy("product type")
    parameter_name = "type"
    column = "product_type_key"


class TagFilter(WordFilter):
    title = gettext_lazy("tag")
    parameter_name = "tag"

    def filter_rows(self, rows: QuerySet[Product], values: Sequence[str | None]) -> QuerySet[Product]:  # type: ignore[override]
        tags = ProductTag.rows().filter(product=OuterRef("pk"), key=casefold_text(values[0] or ""))
        return rows.filter(Exists(tags))


class CreatedFilter(DaysFilter):
    title = gettext_lazy("creation date")
    parameter_name = "created"
    field = "created_at"


class VariantProductFilter(_ExactFilter):
    """Filter by exact product title, ignoring case.

    There is no vendor filter because it would be slow: if all variants of a vendor are at the end of the list, the
    database reads the whole list to find them.
    """

    title = gettext_lazy("product")
    parameter_name = "product"
    column = "product__title_key"
    index_order = ("product_id", "position", "pk")


class PriceFilter(AmountsFilter):
    title = pgettext_lazy("filter", "price")
    parameter_name = "price"
    field = "price"


class LowStockFilter(SelectFilter):
    """Filter for variants with low stock at any location. The filter is hidden if the shop has no low-stock threshold.

    There is no filter for sold-out variants, because it would need an index on the quantity. Every sale would have to
    update this index.
    """

    title = pgettext_lazy("filter", "inventory")
    parameter_name = "stock"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("low", _("Low stock"))]

    def has_output(self) -> bool:
        return get_current_shop().low_stock_at is not None or self.value() is not None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Variant]) -> QuerySet[Variant]:
        if self.value() != "low":
            return queryset
        return queryset.filter(in_materialized(get_low_items().order_by().values("pk"), "inventory_item"))
