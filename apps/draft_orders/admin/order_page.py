"""Draft orders on the pages of orders: the button in the list, the action, and the link to the draft order."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.core.admin.model_admin.registry import list_buttons
from apps.core.admin.permissions import has_permission
from apps.draft_orders.models import DraftOrder
from apps.orders.admin.extension_points import OrderAction, action_sources, origin_sources
from apps.orders.models import Order


@action_sources.register("draft orders")
def get_draft_actions(request: HttpRequest, order: Order) -> Iterator[OrderAction]:
    if has_permission(request, "draft_orders.add_draftorder"):
        url = reverse("admin:draft_orders_draftorder_from_order", args=[order.pk])
        yield OrderAction(_("Duplicate as draft"), url, order=65, is_form=True)


@origin_sources.register("draft orders")
def get_origin_draft(request: HttpRequest, order: Order) -> tuple[str, str] | None:
    if not has_permission(request, "draft_orders.view_draftorder"):
        return None
    draft = DraftOrder.objects.filter(order=order).first()
    if draft is None:
        return None
    return _("draft {name}").format(name=draft), reverse("admin:draft_orders_draftorder_change", args=[draft.pk])


list_buttons.register((Order, "create order"), "panel/draft_orders/create_button.html")
