"""REST endpoints for fulfillments. The lines of a fulfillment are rendered as line items of the order."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import INVALID
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import (
    ApiField,
    ComputedField,
    IntegerField,
    JsonField,
    ModelDerivedField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, ValueListField, validate_members
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer, get_declared_fields
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs, Rendered, Schema
from apps.fulfillment.api.fulfillment_order_views import create_lines_field
from apps.fulfillment.api.permissions import WORKER_SIDE, LocationScopedViewSet, OtherAppsService
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders.quantities import LINES
from apps.fulfillment.domain.fulfillment_orders.states import Side
from apps.fulfillment.domain.fulfillments import PARTS, FulfillmentPart
from apps.fulfillment.domain.scope_filter import WRITE
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder
from apps.orders.api.fields import Blankable, nullable_bool, nullable_text
from apps.orders.api.line_items import LineItemSerializer
from apps.orders.models import Order

_LINE = "line_item__"
MAX_PARTS = 250


def _return_unchanged(_context: RenderContext, value: object) -> object:
    return value


class _LineItemField(ComputedField):
    """A line item field in the serializer of a row that refers to a line item."""

    def __init__(self, field: ApiField, schema: Schema) -> None:
        """Wrap a field that is already bound to its serializer."""
        super().__init__(
            field.get_renderer() or _return_unchanged,
            *(f"{_LINE}{path}" for path in field.get_columns()),
            schema=schema,
        )
        self.field = field
        self.inline = field.inline  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, object]) -> "_LineItemField":
        """Return a new field, because DRF deep-copies the declared fields of each serializer."""
        return _LineItemField(self.field, self.schema or {})


def _create_line_item_fields() -> dict[str, ApiField]:
    schemas = build_resource_schema(LineItemSerializer, get_latest_version())["properties"]
    return {
        name: _LineItemField(field, schemas[name])
        for name, field in get_declared_fields(LineItemSerializer).items()
        if not field.write_only
    }


class FulfillmentLineSerializer(ResourceSerializer[FulfillmentLine]):
    id = ReadOnlyColumn("line_item_id")
    quantity = ReadOnlyColumn()
    fulfillment_line_item_id = ReadOnlyColumn("pk")


_own_fields = dict(FulfillmentLineSerializer._declared_fields)
FulfillmentLineSerializer._declared_fields = {**_create_line_item_fields(), **_own_fields}


def _get_first(_context: RenderContext, values: list[str]) -> str | None:
    return values[0] if values else None


def _render_receipt(_context: RenderContext, test: bool) -> Rendered:
    """Return the receipt. Only the test flag varies, because shipping labels are never bought from carriers."""
    return {"testcase": test, "authorization": ""}


_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_TEXT: Schema = {"type": ["string", "null"]}
_RECEIPT: Schema = {
    "type": "object",
    "properties": {"testcase": {"type": "boolean"}, "authorization": {"type": "string"}},
}


class FulfillmentSerializer(ResourceSerializer[Fulfillment]):
    order_id = ReadOnlyColumn()
    status = ReadOnlyColumn()
    created_at = ModelDerivedField()
    service = ReadOnlyColumn()
    updated_at = ModelDerivedField()
    tracking_company = Blankable("tracking_company")
    shipment_status = Blankable("shipment_status")
    location_id = ReadOnlyColumn()
    origin_address = JsonField(read_only=True, schema={"type": ["object", "null"]})
    line_items = NestedRows(FulfillmentLineSerializer, "lines")
    tracking_number = ComputedField(_get_first, "tracking_numbers", schema=_TEXT)
    tracking_numbers = JsonField(read_only=True, schema=_TEXTS)
    tracking_url = ComputedField(_get_first, "tracking_urls", schema=_TEXT)
    tracking_urls = JsonField(read_only=True, schema=_TEXTS)
    receipt = ComputedField(_render_receipt, "order__test", schema=_RECEIPT)
    name = ReadOnlyColumn()
    admin_graphql_api_id = global_id_field("Fulfillment")


def _create_tracking_field() -> ObjectField:
    return ObjectField(
        {
            "number": nullable_text(tracking.MAX_LENGTH),
            "url": nullable_text(tracking.MAX_LENGTH),
            "company": nullable_text(255),
            "numbers": ValueListField(nullable_text(tracking.MAX_LENGTH), most=tracking.MAX_NUMBERS),
            "urls": ValueListField(nullable_text(tracking.MAX_LENGTH), most=tracking.MAX_NUMBERS),
        }
    )


_ORIGIN = {
    name: nullable_text(255) for name in ("address1", "address2", "city", "zip", "province_code", "country_code")
}
_CREATE = {
    PARTS: ObjectListField(
        {"fulfillment_order_id": IntegerField(min_value=1), LINES: create_lines_field()},
        most=MAX_PARTS,
        required=True,
        allow_null=False,
    ),
    "tracking_info": _create_tracking_field(),
    "notify_customer": nullable_bool(),
    "message": nullable_text(1000),
    "origin_address": ObjectField(_ORIGIN),
}
_TRACKING = {"tracking_info": _create_tracking_field(), "notify_customer": nullable_bool()}


class FulfillmentBaseViewSet(LocationScopedViewSet[Fulfillment]):
    serializer_class = FulfillmentSerializer
    singular = "fulfillment"
    location_path = "location"


class FulfillmentViewSet(FulfillmentBaseViewSet):
    sides = {"create": WORKER_SIDE, "cancel": WRITE, "update_tracking": WRITE}
    request_bodies = {
        "create": {"fulfillment": ObjectField(_CREATE, required=True, allow_null=False)},
        "cancel": {"type": "object"},
        "update_tracking": {"fulfillment": ObjectField(_TRACKING, required=True, allow_null=False)},
    }
    responses = {"cancel": ONE, "update_tracking": ONE}

    def perform_create(self, attrs: Attrs) -> Fulfillment:
        address = attrs.get("origin_address")
        return fulfillments.create_fulfillment(
            self._get_parts(attrs[PARTS]),
            tracking=tracking.complete_tracking(attrs.get("tracking_info") or {}),
            notify=bool(attrs.get("notify_customer")),
            message=attrs.get("message") or "",
            origin_address=None if address is None else {name: address.get(name) for name in _ORIGIN},
            actor=self.actor,
            at=self.at,
        )

    def get_path(self, instance: Fulfillment) -> str:
        """Return the fulfillment's path under its order, because only this path supports GET requests."""
        root = self.request.path.removesuffix("fulfillments.json")
        return f"{root}orders/{instance.order_id}/fulfillments/{instance.pk}.json"

    def get_validated_attributes(self, instance: Fulfillment | None = None) -> Attrs:
        return validate_members(_CREATE, dict(self.unwrap_body("fulfillment")))

    def _get_parts(self, rows_in_body: list[Attrs]) -> list[FulfillmentPart]:
        """Load the fulfillment orders that the body refers to, and check that the app may fulfill them."""
        visible = self.get_visible_condition()
        pks = {row["fulfillment_order_id"] for row in rows_in_body}
        rows = FulfillmentOrder.objects.filter(visible, pk__in=pks).select_related("assigned_location__service")
        fulfillment_orders: dict[int, Any] = {row.pk: row for row in rows}
        errors = {
            f"{PARTS}.{index}.fulfillment_order_id": [INVALID]
            for index, row in enumerate(rows_in_body)
            if row["fulfillment_order_id"] not in fulfillment_orders
        }
        if errors:
            raise fulfillments.FulfillmentRefused(errors)
        for row in fulfillment_orders.values():
            self.require_side(row.assigned_location, Side.WORKER)
        return [
            FulfillmentPart(fulfillment_orders[row["fulfillment_order_id"]], row.get(LINES)) for row in rows_in_body
        ]

    def _get_writable_fulfillment(self) -> Fulfillment:
        """Return the fulfillment in the path if the app may act as worker or merchant at the fulfillment's location."""
        row = self.get_queryset().filter(pk=self.kwargs["id"]).select_related("location__service").first()
        if row is None:
            raise Http404
        try:
            self.require_side(row.location, Side.WORKER)
        except OtherAppsService:
            self.require_side(row.location, Side.MERCHANT)
        return row

    def cancel(self, request: Request, **_: int) -> HttpResponse:
        """Cancel a fulfillment and move its items to a new fulfillment order."""
        return self._change_fulfillment(fulfillments.cancel_fulfillment)

    def update_tracking(self, request: Request, **_: int) -> HttpResponse:
        """Replace the tracking information of a fulfillment."""
        attrs = validate_members(_TRACKING, dict(self.unwrap_body("fulfillment")))
        new_tracking = tracking.complete_tracking(attrs.get("tracking_info") or {})
        notify = bool(attrs.get("notify_customer"))
        return self._change_fulfillment(tracking.update_tracking, tracking=new_tracking, notify=notify)

    def _change_fulfillment(self, change: Callable[..., Fulfillment], **values: object) -> HttpResponse:
        with transaction.atomic():
            row = self._get_writable_fulfillment()
            change(row, actor=self.actor, at=self.at, **values)
            return self.render_object(row.pk)


class OrderFulfillmentViewSet(FulfillmentBaseViewSet):
    parents = {"order_id": Order}


class OrderFulfillmentActionViewSet(FulfillmentViewSet):
    """Actions in the older paths below the order."""

    parents = {"order_id": Order}

    def cancel(self, request: Request, **kwargs: int) -> HttpResponse:
        """Cancel a fulfillment of an order, like the route without the order."""
        return super().cancel(request, **kwargs)


class FulfillmentOrderFulfillmentViewSet(FulfillmentBaseViewSet):
    def load_parents(self) -> None:
        visible = self.get_visible_condition()
        if not FulfillmentOrder.objects.filter(visible, pk=self.kwargs["fulfillment_order_id"]).exists():
            raise Http404

    def get_queryset(self) -> QuerySet[Fulfillment]:
        lines = FulfillmentLine.objects.filter(fulfillment_order=self.kwargs["fulfillment_order_id"])
        return super().get_queryset().filter(pk__in=lines.values("fulfillment_id"))
