"""Record, change and delete the risk assessments of an order. Each change is in the order's timeline."""

from datetime import datetime

from django.db import transaction

from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import RowDeleted
from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.tenancy.models import App
from apps.core.types import Attrs
from apps.orders.domain.selectors import lock_order
from apps.orders.models import Order, OrderRisk

TOPIC = "orders/risk_assessment_changed"
_Recommendation = OrderRisk.Recommendation
# The recommendations from the lowest to the highest risk, each with the level in payloads.
RISK_LEVELS = {_Recommendation.ACCEPT: "LOW", _Recommendation.INVESTIGATE: "MEDIUM", _Recommendation.CANCEL: "HIGH"}
NO_RISK_LEVEL = "NONE"
OTHER_APP = define_text("risks.other_app", "The risk was created by another app, so only that app can change it.")
_ASSESSED = define_message("orders.risk", "Risk assessment by {source}: {recommendation}")
_REMOVED = define_message("orders.risk_removed", "Risk assessment by {source} removed")
_TEXTS = {
    item.value: define_text(f"orders.risk.{item.value}", item.name.capitalize(), item.label) for item in _Recommendation
}


@transaction.atomic
def create_risk(order: Order, attrs: Attrs, *, app: App, actor: str, at: datetime) -> OrderRisk:
    order = lock_order(order)
    risk = OrderRisk(shop_id=order.shop_id, order=order, app=app, created_at=at, **attrs)
    risk.save(force_insert=True)
    record_event(TOPIC, order, actor=actor, at=at, message=_describe(risk))
    return risk


@transaction.atomic
def update_risk(risk: OrderRisk, attrs: Attrs, *, actor: str, at: datetime) -> None:
    """Change an assessment.

    Raises:
        RowDeleted: The assessment was deleted in the meantime.
    """
    order = lock_order(risk.order)
    row = OrderRisk.objects.filter(pk=risk.pk).first()
    if row is None:
        raise RowDeleted
    if changes := apply_changes(row, attrs):
        row.save(update_fields=[*changes, "updated_at"])
        record_event(TOPIC, order, actor=actor, at=at, message=_describe(row))


@transaction.atomic
def delete_risk(risk: OrderRisk, *, actor: str, at: datetime) -> None:
    """Delete an assessment.

    Raises:
        RowDeleted: The assessment was deleted in the meantime.
    """
    order = lock_order(risk.order)
    if not OrderRisk.objects.filter(pk=risk.pk).delete()[0]:
        raise RowDeleted
    record_event(TOPIC, order, actor=actor, at=at, message=_REMOVED(source=risk.source))


def get_risk_level(order_id: int) -> str:
    """Return the level of the order's highest risk, or ``NONE`` if the order has not been assessed."""
    found = set(OrderRisk.objects.filter(order_id=order_id).values_list("recommendation", flat=True))
    return next((level for word, level in reversed(RISK_LEVELS.items()) if word in found), NO_RISK_LEVEL)


def _describe(risk: OrderRisk) -> Message:
    return _ASSESSED(source=risk.source, recommendation=_TEXTS[risk.recommendation])
