"""Fulfillments over REST: what was sent, in which parcels, and their lines as lines of the order."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.openapi.schemas import resource_schema
from apps.api.requests.views import ONE
from apps.api.resources.fields import ApiField, Column, Computed, FromModel, GlobalId, IntegerField, JsonField
from apps.api.resources.members import ObjectField, ObjectsField, ValuesField, read_members
from apps.api.resources.related import Rows
from apps.api.resources.serializers import ResourceSerializer, declaration
from apps.api.shapes import Attrs, Schema, Shown
from apps.api.versions import newest
from apps.api.viewsets import ShopViewSet
from apps.fulfillment.api.access import WORKER_SIDE, AnothersService, ScopedByLocation
from apps.fulfillment.api.views import lines
from apps.fulfillment.domain import fulfilling, tracking, visibility
from apps.fulfillment.domain.fulfilling import PARTS, Part
from apps.fulfillment.domain.states import Side
from apps.fulfillment.domain.units import LINES
from apps.fulfillment.domain.visibility import WRITE
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder
from apps.ground.phrases import INVALID
from apps.orders.api.fields import flag, string
from apps.orders.api.lines import Blankable, LineItemSerializer
from apps.orders.models import Order

_LINE = "line_item__"
MAX_PARTS = 250


def _same(_context: Context, value: object) -> object:
    return value


class _Through(Computed):
    """A field of a line of the order, for a row that refers to one."""

    def __init__(self, field: ApiField, schema: Schema) -> None:
        """Name the field, which is bound already."""
        super().__init__(field.reader() or _same, *(f"{_LINE}{path}" for path in field.columns()), schema=schema)
        self.field = field
        self.inline = field.inline  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, object]) -> "_Through":
        """A fresh declaration."""
        return _Through(self.field, self.schema or {})


def _through() -> dict[str, ApiField]:
    """The fields of a line of the order."""
    schemas = resource_schema(LineItemSerializer, newest())["properties"]
    return {
        name: _Through(field, schemas[name])
        for name, field in declaration(LineItemSerializer).items()
        if not field.write_only
    }


class FulfillmentLineSerializer(ResourceSerializer[FulfillmentLine]):
    """A line of the order, with how many units of it were sent."""

    id = Column("line_item_id")
    quantity = Column()
    fulfillment_line_item_id = Column("pk")

    class Meta:
        model = FulfillmentLine


_own = dict(FulfillmentLineSerializer._declared_fields)
FulfillmentLineSerializer._declared_fields = {**_through(), **_own}


def _first(_context: Context, values: list[str]) -> str | None:
    return values[0] if values else None


def _receipt(_context: Context, test: bool) -> Shown:
    """Nothing was paid for by the carrier's interface."""
    return {"testcase": test, "authorization": ""}


_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_TEXT: Schema = {"type": ["string", "null"]}
_RECEIPT: Schema = {
    "type": "object",
    "properties": {"testcase": {"type": "boolean"}, "authorization": {"type": "string"}},
}


class FulfillmentSerializer(ResourceSerializer[Fulfillment]):
    """A fulfillment as the interface shows it."""

    order_id = Column()
    status = Column()
    created_at = FromModel()
    service = Column()
    updated_at = FromModel()
    tracking_company = Blankable("tracking_company")
    shipment_status = Blankable("shipment_status")
    location_id = Column()
    origin_address = JsonField(read_only=True, schema={"type": ["object", "null"]})
    line_items = Rows(FulfillmentLineSerializer, "lines")
    tracking_number = Computed(_first, "tracking_numbers", schema=_TEXT)
    tracking_numbers = JsonField(read_only=True, schema=_TEXTS)
    tracking_url = Computed(_first, "tracking_urls", schema=_TEXT)
    tracking_urls = JsonField(read_only=True, schema=_TEXTS)
    receipt = Computed(_receipt, "order__test", schema=_RECEIPT)
    name = Column()
    admin_graphql_api_id = GlobalId("Fulfillment")

    class Meta:
        model = Fulfillment


def _tracking() -> ObjectField:
    number, url = string(tracking.LONGEST), string(tracking.LONGEST)
    return ObjectField(
        {
            "number": number,
            "url": url,
            "company": string(255),
            "numbers": ValuesField(string(tracking.LONGEST), most=tracking.MAX_NUMBERS),
            "urls": ValuesField(string(tracking.LONGEST), most=tracking.MAX_NUMBERS),
        }
    )


_ORIGIN = {name: string(255) for name in ("address1", "address2", "city", "zip", "province_code", "country_code")}
_CREATE = {
    PARTS: ObjectsField(
        {"fulfillment_order_id": IntegerField(min_value=1), LINES: lines()},
        most=MAX_PARTS,
        required=True,
        allow_null=False,
    ),
    "tracking_info": _tracking(),
    "notify_customer": flag(),
    "message": string(1000),
    "origin_address": ObjectField(_ORIGIN),
}
_TRACKING = {"tracking_info": _tracking(), "notify_customer": flag()}


class FulfillmentViews(ScopedByLocation, ShopViewSet[Fulfillment]):
    """What all routes of fulfillments have in common."""

    model = Fulfillment
    serializer_class = FulfillmentSerializer
    singular = "fulfillment"
    plural = "fulfillments"

    def get_queryset(self) -> QuerySet[Fulfillment]:
        """Those of locations that the caller's scopes cover."""
        rows = super().get_queryset()
        return rows.filter(visibility.visible(self.access.granted, self.access.installation.app_id, "location"))

    @property
    def is_plain(self) -> bool:
        """What is seen depends on the caller."""
        return False


class FulfillmentViewSet(FulfillmentViews):
    """``/fulfillments``: units are sent, followed, and taken back."""

    sides = {"create": WORKER_SIDE, "cancel": WRITE, "update_tracking": WRITE}
    bodies = {
        "create": {"fulfillment": ObjectField(_CREATE, required=True, allow_null=False)},
        "cancel": {"type": "object"},
        "update_tracking": {"fulfillment": ObjectField(_TRACKING, required=True, allow_null=False)},
    }
    answers = {"cancel": ONE, "update_tracking": ONE}

    def perform_create(self, attrs: Attrs) -> Fulfillment:
        """Send units of fulfillment orders."""
        address = attrs.get("origin_address")
        return fulfilling.create_fulfillment(
            self._parts(attrs[PARTS]),
            tracking=tracking.completed(attrs.get("tracking_info") or {}),
            notify=bool(attrs.get("notify_customer")),
            message=attrs.get("message") or "",
            origin_address=None if address is None else {name: address.get(name) for name in _ORIGIN},
            actor=self.actor,
            at=self.at,
        )

    def path_of(self, instance: Fulfillment) -> str:
        """Fulfillments are found below their order."""
        root = self.request.path.removesuffix("fulfillments.json")
        return f"{root}orders/{instance.order_id}/fulfillments/{instance.pk}.json"

    def attributes(self, instance: Fulfillment | None = None) -> Attrs:
        """The body, checked."""
        return read_members(_CREATE, dict(self.unwrapped("fulfillment")))

    def _parts(self, given: list[Attrs]) -> list[Part]:
        """The fulfillment orders that the body names, among those that the caller sees and may send."""
        seen = visibility.visible(self.access.granted, self.access.installation.app_id)
        pks = {row["fulfillment_order_id"] for row in given}
        rows = FulfillmentOrder.objects.filter(seen, pk__in=pks).select_related("assigned_location__service")
        found: dict[int, Any] = {row.pk: row for row in rows}
        errors = {
            f"{PARTS}.{index}.fulfillment_order_id": [INVALID]
            for index, row in enumerate(given)
            if row["fulfillment_order_id"] not in found
        }
        if errors:
            raise fulfilling.FulfillmentRefused(errors)
        for row in found.values():
            self.may(row.assigned_location, Side.WORKER)
        return [Part(found[row["fulfillment_order_id"]], row.get(LINES)) for row in given]

    def _chosen(self) -> Fulfillment:
        """The fulfillment that the path names, where the caller may write at its location, on whichever side."""
        row = self.get_queryset().filter(pk=self.kwargs["id"]).select_related("location__service").first()
        if row is None:
            raise Http404
        try:
            self.may(row.location, Side.WORKER)
        except AnothersService:
            self.may(row.location, Side.MERCHANT)
        return row

    def cancel(self, request: Request, **_: int) -> HttpResponse:
        """Cancel a fulfillment; its units are to be sent again, by a new fulfillment order."""
        return self._changed(fulfilling.cancel_fulfillment)

    def update_tracking(self, request: Request, **_: int) -> HttpResponse:
        """Replace the numbers by which the parcels of a fulfillment are followed."""
        given = read_members(_TRACKING, dict(self.unwrapped("fulfillment")))
        wanted = tracking.completed(given.get("tracking_info") or {})
        notify = bool(given.get("notify_customer"))
        return self._changed(tracking.update_tracking, tracking=wanted, notify=notify)

    def _changed(self, change: Callable[..., Fulfillment], **values: object) -> HttpResponse:
        with transaction.atomic():
            row = self._chosen()
            change(row, actor=self.actor, at=self.at, **values)
            return self.object_response(row.pk)


class OrderFulfillmentViewSet(FulfillmentViews):
    """``/orders/{order_id}/fulfillments``."""

    parents = {"order_id": Order}


class FulfillmentOrderFulfillmentViewSet(FulfillmentViews):
    """``/fulfillment_orders/{fulfillment_order_id}/fulfillments``."""

    def open(self) -> None:
        """The fulfillment order must be one that the caller sees."""
        seen = visibility.visible(self.access.granted, self.access.installation.app_id)
        if not FulfillmentOrder.objects.filter(seen, pk=self.kwargs["fulfillment_order_id"]).exists():
            raise Http404

    def get_queryset(self) -> QuerySet[Fulfillment]:
        """Those that sent units of it."""
        sent = FulfillmentLine.objects.filter(fulfillment_order=self.kwargs["fulfillment_order_id"])
        return super().get_queryset().filter(pk__in=sent.values("fulfillment_id"))
