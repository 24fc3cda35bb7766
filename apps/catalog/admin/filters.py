"""By what the list of products is narrowed besides its states: each by an index of its own."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy

from apps.catalog.models import Product, ProductTag
from apps.ground.folding import folded
from apps.panel.screens.typed_filters import DaysFilter, WordFilter


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
