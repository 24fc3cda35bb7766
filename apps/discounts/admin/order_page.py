"""The discount codes of an order on the order page, with links to their discounts."""

from django.http import HttpRequest
from django.urls import reverse

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.discounts.domain.terms import find_codes
from apps.discounts.domain.uses import get_amounts_of_codes, get_codes_of_order
from apps.orders.admin.extension_points import OrderSection, order_sections
from apps.orders.models import Order


def get_order_codes(request: HttpRequest, order: Order) -> Context | None:
    names = get_codes_of_order(order)
    if not names or not has_permission(request, "discounts.view_pricerule"):
        return None
    amounts = get_amounts_of_codes(order)
    rows = [
        {
            "code": row.code,
            "title": row.rule.title,
            "url": reverse("admin:discounts_pricerule_change", args=[row.rule_id]),
            "amount": formats.format_money(amounts[key], order.currency) if key in amounts else "–",
        }
        for key, row in find_codes(names).items()
    ]
    return {"codes": rows} if rows else None


order_sections.add(OrderSection("panel/discounts/order_codes.html", get_order_codes, order=20))
