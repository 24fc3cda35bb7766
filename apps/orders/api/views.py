"""The routes of orders."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.fields import empty
from rest_framework.request import Request

from apps.api.requests.views import ONE
from apps.api.resources.fields import ChoiceField
from apps.api.resources.filters import apply_filters
from apps.api.resources.members import ObjectField, read_members
from apps.api.shapes import Attrs, Data, Schema
from apps.api.viewsets import ShopViewSet
from apps.customers.models import Customer
from apps.metafields.api.bodies import METAFIELDS
from apps.orders.api.bodies import OTHER_MEMBERS, read_changes, read_order
from apps.orders.api.fields import AmountField, flag, string
from apps.orders.api.filters import ANY, OrderFilter
from apps.orders.api.orders import OrderSerializer
from apps.orders.domain import editing, placing, transitions
from apps.orders.domain.loading import lock
from apps.orders.models import OpenOrder, Order

CANCELLED = "Order has been canceled"
_CANCELLATION = {
    "amount": AmountField(),
    "currency": string(3),
    "email": flag(),
    "reason": ChoiceField(choices=Order.CancelReason.choices, required=False, allow_null=True),
    "refund": ObjectField({}),
    "restock": flag(),
}


class OrderViewSet(ShopViewSet[Order]):
    """``/orders``: open ones, unless the query names a status."""

    scope = "orders"
    model = Order
    serializer_class = OrderSerializer
    filterset_class = OrderFilter
    singular = "order"
    plural = "orders"
    order = ("-id",)
    versions = ("version", "customer__version")
    bodies = {"cancel": _CANCELLATION, "close": {"type": "object"}, "reopen": {"type": "object"}}
    answers = {"cancel": ONE, "close": ONE, "reopen": ONE}
    beside = {"cancel": {"notice": {"type": "string", "description": "That the order is canceled, for people."}}}

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its metafields, and what of a new order belongs to the apps above."""
        return {"metafields": METAFIELDS, **OTHER_MEMBERS}

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[Order] | type[Order]:
        """The rows that fit; a model where fixed statements serve: for all orders, and for all open ones."""
        full = self._completed(filters)
        if self.is_plain and full.keys() & self.filterset_class.base_filters.keys() == {"status"}:
            if full["status"] == ANY:
                return Order
            if full["status"] == Order.Status.OPEN:
                return OpenOrder
        return apply_filters(self.filterset_class, full, self.get_queryset())

    def count(self, request: Request, **_: int) -> HttpResponse:
        """How many orders fit."""
        return super().count(request)

    def _completed(self, filters: Mapping[str, str]) -> dict[str, str]:
        """The filters with the default status; ``current`` means the calling app."""
        full = {"status": Order.Status.OPEN.value, **filters}
        if full.get("attribution_app_id") == "current":
            full["attribution_app_id"] = str(self.access.installation.app_id)
        return full

    def create(self, request: Request, **_: int) -> HttpResponse:
        """Take in an order."""
        attrs, parts = read_order(self.version, self.unwrapped("order"))
        app = self.access.installation.app
        attrs.setdefault("source_name", app.name)
        with transaction.atomic():
            order = placing.create_order(attrs, parts, actor=self.actor, at=self.at, app=app)
            return self.created(order)

    def update(self, request: Request, **_: int) -> HttpResponse:
        """Change what may be changed of an order."""
        with transaction.atomic():
            order = lock(self.get_object())
            attrs, drafts = read_changes(self.version, self.unwrapped("order"), order)
            customer = attrs.pop("customer", empty)
            editing.update_order(order, attrs, actor=self.actor, at=self.at, customer=_named(customer), drafts=drafts)
            return self.object_response(order.pk)

    def perform_destroy(self, instance: Order) -> None:
        """Delete an order for which no gateway moved money."""
        editing.delete_order(instance, actor=self.actor, at=self.at)

    def cancel(self, request: Request, **_: int) -> HttpResponse:
        """Cancel an order, with a refund if the body asks for one."""
        given = self._flat(_CANCELLATION)
        refund = {name: given[name] for name in ("amount", "currency") if given.get(name) is not None}
        if isinstance(self.body, dict) and self.body.get("refund") is not None:
            refund["refund"] = self.body["refund"]
        restock = given.get("restock")
        with transaction.atomic():
            order = transitions.cancel(
                self.get_object(),
                actor=self.actor,
                at=self.at,
                reason=given.get("reason") or Order.CancelReason.OTHER,
                restock=True if restock is None else restock,
                refund=refund or None,
                notify=bool(given.get("email")),
            )
            shown = self.plan().read_one(order.pk, self.context)
        return self.json({"notice": CANCELLED, "order": shown})

    def close(self, request: Request, **_: int) -> HttpResponse:
        """Put an order into the archive."""
        self._flat({})
        with transaction.atomic():
            order = transitions.close(self.get_object(), actor=self.actor, at=self.at)
            return self.object_response(order.pk)

    def reopen(self, request: Request, **_: int) -> HttpResponse:
        """Take an order out of the archive."""
        self._flat({})
        with transaction.atomic():
            order = transitions.reopen(self.get_object(), actor=self.actor, at=self.at)
            return self.object_response(order.pk)

    def _flat(self, members: Data) -> Attrs:
        """The members of a body without a wrapper; what it does not name, clients say in the query."""
        body = {} if self.body is None else self.body
        return read_members(members, {**self.query, **body} if isinstance(body, dict) else body)


def _named(customer: Any) -> Any:
    """The customer that an update names: an id, None to take the order from its customer, or unset."""
    if customer is empty:
        return editing.UNSET
    if customer is None:
        return None
    return customer.get("id") or editing.UNSET


class CustomerOrdersViewSet(OrderViewSet):
    """``/customers/{customer_id}/orders``."""

    parents = {"customer_id": Customer}
