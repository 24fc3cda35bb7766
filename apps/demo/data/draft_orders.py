"""Demo data: a discount code, and draft orders that use it."""

from datetime import datetime
from decimal import Decimal

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.discounts.domain import codes, price_rules
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


def create_demo_draft_orders(shop: Shop, at: datetime) -> None:
    rule = price_rules.create_price_rule({**RULE, "starts_at": at}, actor="system", at=at)
    codes.create_code(rule, "HELLO10", actor="system", at=at)
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
                "tags": ["phone"],
            },
            [{"variant_id": variant.pk, "quantity": 2} for variant in (variants.pop(), variants.pop())],
            actor="system",
            at=at,
            metafield_inputs=[source],
        )
