"""Steps of orders that the REST API does not have, for tests that drive orders from outside of the product."""

from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support.factories.inventory import get_first_location, make_location


def route_items(order_id: int) -> None:
    """Route new items as the worker does."""
    routing.route_order(order_id, at=timezone.now())


def edit_quantity(order_id: int, line_id: int, quantity: int) -> bool:
    """Change the quantity of a line as staff do in the panel. Return False if the edit is refused."""
    edit = OrderEdit({line_id: LineEdit(quantity)})
    try:
        edit_lines.edit_lines(Order(pk=order_id), edit, actor="system", at=timezone.now())
    except DomainError:
        return False
    return True


def make_locations(shop: Shop) -> list[int]:
    """Create two locations in addition to the first one, and return the ids of all."""
    return [get_first_location(shop).pk, *(make_location(shop, name=name).pk for name in ("North", "South"))]


def find_differences() -> list[str]:
    """Return what the nightly checks find."""
    return list(consistency_checks.find_differences())
