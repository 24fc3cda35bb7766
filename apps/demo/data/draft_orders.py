"""Demo data: discounts, and draft orders that use them."""

from datetime import datetime, timedelta
from decimal import Decimal

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.discounts.domain.discounts import create_discount
from apps.draft_orders.domain.draft_orders import create_draft_order
from apps.metafields.domain.write import MetafieldInput

RULE = {
    "title": "Ten percent off the first order",
    "value_type": "percentage",
    "value": Decimal(-10),
    "customer_selection": "all",
    "target_type": "line_item",
    "target_selection": "all",
    "allocation_method": "across",
    "once_per_customer": True,
}


# Discounts with their codes, and the days until they start and end.
OTHER_DISCOUNTS: tuple[tuple[str, int, int, dict[str, object]], ...] = (
    (
        *("SPRING5", 14, 44),
        {
            "title": "Five off large orders",
            "value_type": "fixed_amount",
            "value": Decimal(-5),
            "prerequisite_subtotal": Decimal(50),
        },
    ),
    (
        *("FREESHIP", -60, -30),
        {
            "title": "Free shipping for a month",
            "value": Decimal(-100),
            "target_type": "shipping_line",
            "allocation_method": "each",
        },
    ),
)


def create_demo_draft_orders(shop: Shop, at: datetime) -> None:
    create_discount({**RULE, "starts_at": at}, "HELLO10", actor="system", at=at)
    for code, start, end, terms in OTHER_DISCOUNTS:
        period = {"starts_at": at + timedelta(days=start), "ends_at": at + timedelta(days=end)}
        create_discount({**RULE, **terms, **period}, code, actor="system", at=at)
    variants = list(Variant.objects.order_by("pk")[:4])
    source = MetafieldInput("details", "source", "single_line_text_field", "Phone")
    customers = Customer.objects.exclude(email="").order_by("-pk")[:2]
    for customer, discount_codes in zip(customers, (["HELLO10"], []), strict=True):
        create_draft_order(
            {
                "customer_id": customer.pk,
                "use_customer_default_address": True,
                "shipping_line": {"title": "Standard", "price": Decimal("4.90")},
                "discount_codes": discount_codes,
                "tags": "phone",
            },
            [{"variant_id": variant.pk, "quantity": 2} for variant in (variants.pop(), variants.pop())],
            actor="system",
            at=at,
            metafield_inputs=[source],
        )
