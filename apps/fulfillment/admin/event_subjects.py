"""Names of fulfillment orders, fulfillments and tracking events in the audit log: the order that they belong to."""

from collections.abc import Collection

from apps.core.admin.display.fields import value_labels
from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder
from apps.orders.models import Order


def _name_fulfillment_orders(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = (
        FulfillmentOrder.rows().filter(pk__in=ids).values_list("pk", "order", "order__name", "assigned_location__name")
    )
    return {pk: SubjectName(f"{name} – {place}" if place else name, order) for pk, order, name, place in rows}


def _name_fulfillments(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = Fulfillment.rows().filter(pk__in=ids).values_list("pk", "order", "name")
    return {pk: SubjectName(name, order) for pk, order, name in rows}


def _name_tracking_events(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = FulfillmentEvent.rows().filter(pk__in=ids).select_related("fulfillment")
    return {row.pk: SubjectName(f"{row.fulfillment.name}: {row}", row.fulfillment.order_id) for row in rows}


value_labels.register("shipment_status", dict(FulfillmentEvent.Status.choices))
value_labels.register("hold_reason", dict(FulfillmentHold.Reason.choices))
subject_names.add(SubjectNames(FulfillmentOrder, Order, _name_fulfillment_orders))
subject_names.add(SubjectNames(Fulfillment, Order, _name_fulfillments))
subject_names.add(SubjectNames(FulfillmentEvent, Order, _name_tracking_events))
