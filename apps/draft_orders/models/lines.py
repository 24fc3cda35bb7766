from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.draft_orders.models.draft_orders import DraftOrder
from apps.orders.models.bases import LineBase


class DraftOrderLine(LineBase):
    """A line of a draft order. ``applied_discount`` is null or as in ``DraftOrder``. A fixed amount is per unit."""

    draft_order = models.ForeignKey(DraftOrder, on_delete=models.CASCADE, related_name="line_items", db_index=False)
    applied_discount = models.JSONField(null=True, blank=True)

    history_owners = ("draft_order",)
    unrecorded_fields = ("position", "variant", "product", "name", "tax", "tax_lines", "discount_allocations")
    non_personal_fields = (
        "title",
        "variant_title",
        "name",
        "sku",
        "vendor",
        "applied_discount",
        "tax_lines",
        "discount_allocations",
        "fulfillment_service",
    )

    class Meta:
        verbose_name = gettext_lazy("draft order line")
        verbose_name_plural = gettext_lazy("draft order lines")
        ordering = ("draft_order", "position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(quantity__gte=1), name="draft_orders_line_has_units", violation_error_code="quantity"
            ),
            models.CheckConstraint(
                condition=Q(price__gte=0, discount__gte=0, tax__gte=0),
                name="draft_orders_line_amounts_not_negative",
                violation_error_code="price",
            ),
        )
        indexes = (models.Index(fields=("draft_order", "position", "id"), name="draft_orders_line_by_draft"),)
