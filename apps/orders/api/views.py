from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.rest.reading import keyset_pagination
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import ChoiceField
from apps.core.rest.resources.filters import (
    ChoiceFilter,
    DateTimeFilter,
    IdFilter,
    ResourceFilter,
    TextFilter,
    apply_filters,
)
from apps.core.rest.resources.nested_objects import ObjectField, validate_members
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, RequestData, Schema
from apps.customers.models import Customer
from apps.metafields.api.metafields import METAFIELDS_SCHEMA
from apps.orders.api.fields import AmountField, nullable_bool, nullable_text
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.parsing import OTHER_MEMBERS, parse_order, parse_order_changes
from apps.orders.api.transactions import check_payment_scopes
from apps.orders.domain import transitions, updates
from apps.orders.domain.create import orders as placing
from apps.orders.domain.selectors import lock_order
from apps.orders.models import OpenOrder, Order

FinancialStatus = Order.FinancialStatus
FulfillmentStatus = Order.FulfillmentStatus
ANY = "any"
STATUS_GROUPS: dict[str, tuple[str, ...]] = {word: (word,) for word in Order.Status.values}
FINANCIAL_GROUPS: dict[str, tuple[str, ...]] = {
    **{word: (word,) for word in FinancialStatus.values},
    "unpaid": (FinancialStatus.PENDING, FinancialStatus.AUTHORIZED, FinancialStatus.PARTIALLY_PAID),
}
FULFILLMENT_GROUPS: dict[str, tuple[str, ...]] = {
    "shipped": (FulfillmentStatus.FULFILLED,),
    "fulfilled": (FulfillmentStatus.FULFILLED,),
    "partial": (FulfillmentStatus.PARTIAL,),
    "unshipped": (FulfillmentStatus.UNFULFILLED,),
    "unfulfilled": (FulfillmentStatus.UNFULFILLED, FulfillmentStatus.PARTIAL),
    "restocked": (FulfillmentStatus.RESTOCKED,),
}
CANCELLED_NOTICE = "Order has been canceled"
_CANCELLATION = {
    "amount": AmountField(),
    "currency": nullable_text(3),
    "email": nullable_bool(),
    "reason": ChoiceField(choices=Order.CancelReason.choices, required=False, allow_null=True),
    "refund": ObjectField({}),
    "restock": nullable_bool(),
}


class GroupFilter(ChoiceFilter):
    """Maps each accepted word to one or more column values."""

    def __init__(self, column: str, groups: dict[str, tuple[str, ...]]) -> None:
        super().__init__(column, words=(*groups, ANY))
        self.groups = groups

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value in (None, ANY):
            return qs
        values = self.groups[value]
        if len(values) == 1:
            return qs.filter(**{self.field_name: values[0]})
        return qs.filter(**{f"{self.field_name}__in": values})


class NameFilter(TextFilter):
    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value is None else qs.filter(name=f"#{value.removeprefix('#')}")


class OrderFilter(ResourceFilter):
    status = GroupFilter("status", STATUS_GROUPS)
    financial_status = GroupFilter("financial_status", FINANCIAL_GROUPS)
    fulfillment_status = GroupFilter("fulfillment_status", FULFILLMENT_GROUPS)
    name = NameFilter("name")
    processed_at_min = DateTimeFilter("processed_at", "gte")
    processed_at_max = DateTimeFilter("processed_at", "lte")
    attribution_app_id = IdFilter("app_id")


class OrderViewSet(ShopViewSet[Order]):
    """Views for orders. The list contains only open orders, unless the query sets a status."""

    scope = "orders"
    serializer_class = OrderSerializer
    filterset_class = OrderFilter
    singular = "order"
    order = ("-id",)
    sort_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "id": (),
        **{name: (name,) for name in ("created_at", "updated_at", "processed_at", "total_price")},
    }
    version_columns = ("version", "customer__version")
    request_bodies = {"cancel": _CANCELLATION, "close": {"type": "object"}, "reopen": {"type": "object"}}
    responses = {"cancel": ONE, "close": ONE, "reopen": ONE}
    extra_response_properties = {"cancel": {"notice": {"type": "string", "description": "A confirmation message."}}}

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"metafields": METAFIELDS_SCHEMA, **OTHER_MEMBERS}

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[Order] | type[Order]:
        """Return the filtered rows, or a model class if the list has precompiled SQL (all orders or open orders)."""
        active_filters = {"status": Order.Status.OPEN.value, **filters}
        if active_filters.get("attribution_app_id") == "current":
            active_filters["attribution_app_id"] = str(self.access.installation.app_id)
        is_plain = self.shows_all_shop_rows and "order" not in filters
        if is_plain and active_filters.keys() & self.filterset_class.base_filters.keys() == {"status"}:
            if active_filters["status"] == ANY:
                return Order
            if active_filters["status"] == Order.Status.OPEN:
                return OpenOrder
        return apply_filters(self.filterset_class, active_filters, self.get_queryset())

    def is_index_range(self, filters: Mapping[str, str], order: keyset_pagination.Order) -> bool:
        """Return True if orders of any status match. By default, the list contains only open orders."""
        remaining = {name: value for name, value in filters.items() if name != "status"}
        return filters.get("status") == ANY and super().is_index_range(remaining, order)

    def create(self, request: Request, **_: int) -> HttpResponse:
        attrs, parts = parse_order(self.version, self.unwrap_body("order"))
        check_payment_scopes(self.access, parts.transactions)
        app = self.access.installation.app
        attrs.setdefault("source_name", app.name)
        with transaction.atomic():
            order = placing.create_order(attrs, parts, actor=self.actor, at=self.at, app=app)
            return self.render_created(order)

    def update(self, request: Request, **_: int) -> HttpResponse:
        with transaction.atomic():
            order = lock_order(self.get_object())
            attrs, drafts = parse_order_changes(self.version, self.unwrap_body("order"), order)
            customer = attrs.pop("customer", {})
            customer_id = None if customer is None else customer.get("id") or updates.UNSET
            updates.update_order(order, attrs, actor=self.actor, at=self.at, customer=customer_id, drafts=drafts)
            return self.render_object(order.pk)

    def perform_destroy(self, instance: Order) -> None:
        updates.delete_order(instance, actor=self.actor, at=self.at)

    def cancel(self, request: Request, **_: int) -> HttpResponse:
        """Cancel an order, with a refund if the body requests one."""
        members = self._flat(_CANCELLATION)
        refund = {name: members[name] for name in ("amount", "currency") if members.get(name) not in (None, "")}
        if isinstance(self.body, dict) and self.body.get("refund") not in (None, ""):
            refund["refund"] = self.body["refund"]
        restock = members.get("restock")
        with transaction.atomic():
            order = transitions.cancel_order(
                self.get_object(),
                actor=self.actor,
                at=self.at,
                reason=members.get("reason") or Order.CancelReason.OTHER,
                restock=True if restock is None else restock,
                refund=refund or None,
                notify=bool(members.get("email")),
            )
            rendered_order = self.get_read_plan().read_one(order.pk, self.context)
        return self.json_response({"notice": CANCELLED_NOTICE, "order": rendered_order})

    def close(self, request: Request, **_: int) -> HttpResponse:
        """Archive an order."""
        self._flat({})
        with transaction.atomic():
            order = transitions.close_order(self.get_object(), actor=self.actor, at=self.at)
            return self.render_object(order.pk)

    def reopen(self, request: Request, **_: int) -> HttpResponse:
        """Reopen an archived order."""
        self._flat({})
        with transaction.atomic():
            order = transitions.reopen_order(self.get_object(), actor=self.actor, at=self.at)
            return self.render_object(order.pk)

    def _flat(self, members: RequestData) -> Attrs:
        """Parse a body without a wrapper object. Missing members are read from the query string."""
        body = {} if self.body is None else self.body
        return validate_members(members, {**self.query, **body} if isinstance(body, dict) else body)


class CustomerOrdersViewSet(OrderViewSet):
    parents = {"customer_id": Customer}
