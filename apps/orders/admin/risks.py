from django.http import HttpRequest

from apps.core.admin.staff_request import Context
from apps.orders.admin.extension_points import OrderSection, order_sections
from apps.orders.models import Order, OrderRisk

_TONES = {"accept": "bo-badge-success", "investigate": "bo-badge-warning", "cancel": "bo-badge-danger"}


def _get_risks(request: HttpRequest, order: Order) -> Context | None:
    """Return the assessments that staff may see, the most severe first, or None if there are none."""
    rows = OrderRisk.rows().filter(order=order, display=True).select_related("app").order_by("-score", "pk")[:50]
    risks = [(row, _TONES[row.recommendation]) for row in rows]
    return {"risks": risks} if risks else None


order_sections.add(OrderSection("panel/orders/risks.html", _get_risks, order=5))
