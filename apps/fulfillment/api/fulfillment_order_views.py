"""REST endpoints that read fulfillment orders and perform the merchant's actions."""

from collections.abc import Callable
from functools import cached_property

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.rest.reading.query_plans import ReadPlan, get_read_plan
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import BooleanField, ChoiceField, DateTimeField, IntegerField
from apps.core.rest.resources.filters import ChoiceFilter, IdsFilter, ResourceFilter
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, ValueListField, validate_members
from apps.core.rest.resources.serializers import get_declared_fields
from apps.core.types import Attrs, RequestData, Schema
from apps.fulfillment.api.fulfillment_orders import (
    REFERENCE_FIELDS,
    FulfillmentOrderSerializer,
    SummarizedFulfillmentOrderSerializer,
)
from apps.fulfillment.api.permissions import MERCHANT_SIDE, WORKER_SIDE, LocationScopedViewSet
from apps.fulfillment.domain.fulfillment_orders import moves, transitions
from apps.fulfillment.domain.fulfillment_orders.quantities import LINES
from apps.fulfillment.domain.fulfillment_orders.states import Side
from apps.fulfillment.domain.scope_filter import Scope
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.api.fields import nullable_text
from apps.orders.models import Order

_FULFILLMENT_ORDER: Schema = {"$ref": "#/components/schemas/FulfillmentOrder"}
_OR_NONE: Schema = {"oneOf": [_FULFILLMENT_ORDER, {"type": "null"}]}
MAX_LINES = 500
ASSIGNMENTS: dict[str, dict[str, str]] = {
    "cancellation_requested": {"request_status": RequestStatus.CANCELLATION_REQUESTED, "status": Status.IN_PROGRESS},
    "fulfillment_requested": {"request_status": RequestStatus.SUBMITTED, "status": Status.OPEN},
    "fulfillment_accepted": {"request_status": RequestStatus.ACCEPTED, "status": Status.IN_PROGRESS},
    "fulfillment_unsubmitted": {"request_status": RequestStatus.UNSUBMITTED, "status": Status.OPEN},
}
LOCATIONS = "location_ids[]"


def create_lines_field() -> ObjectListField:
    members = {"id": IntegerField(min_value=1), "quantity": IntegerField(required=False, allow_null=True)}
    return ObjectListField(members, most=MAX_LINES)


_CANDIDATE: Schema = {
    "type": "object",
    "properties": {
        "location": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}},
        "message": {"type": "string"},
        "movable": {"type": "boolean"},
    },
}
MESSAGE = {"message": nullable_text(1000)}
_HOLD = {
    "reason": ChoiceField(choices=FulfillmentHold.Reason.choices),
    "reason_notes": nullable_text(1000),
    LINES: create_lines_field(),
}
_MOVE = {"new_location_id": IntegerField(min_value=1), LINES: create_lines_field()}
_RESCHEDULE = {"new_fulfill_at": DateTimeField()}
_DEADLINE = {
    "fulfillment_order_ids": ValueListField(IntegerField(min_value=1), required=True, allow_null=False),
    "fulfillment_deadline": DateTimeField(),
}


def create_body_schema(name: str, members: RequestData, *, required: bool = True) -> Schema:
    return {name: ObjectField(members, required=required, allow_null=not required)}


def create_response_schema(*names: str, maybe: tuple[str, ...] = ()) -> Schema:
    """Create the schema of a response with several fulfillment orders. The members named in ``maybe`` may be null."""
    properties = {**dict.fromkeys(names, _FULFILLMENT_ORDER), **dict.fromkeys(maybe, _OR_NONE)}
    return {"type": "object", "required": list(properties), "properties": properties}


class FulfillmentOrderBaseViewSet(LocationScopedViewSet[FulfillmentOrder]):
    serializer_class = FulfillmentOrderSerializer
    singular = "fulfillment_order"

    def get_read_plan(self) -> ReadPlan:
        """Return the read plan. The ``include_…`` query parameters add fields."""
        names = self.requested_fields
        if names is None:
            names = frozenset(get_declared_fields(FulfillmentOrderSerializer)) - (
                frozenset() if self._includes("include_order_reference_fields") else REFERENCE_FIELDS
            )
        summarized = self._includes("include_financial_summaries")
        serializer = SummarizedFulfillmentOrderSerializer if summarized else FulfillmentOrderSerializer
        return get_read_plan(serializer, self.version, names)

    def _includes(self, name: str) -> bool:
        return BooleanField.WORDS.get(self.query.get(name, ""), False)

    def get_for_side(self, side: Side) -> FulfillmentOrder:
        """Return the fulfillment order in the path, if the app may act for this side."""
        row = self.get_queryset().filter(pk=self.kwargs["id"]).select_related("assigned_location__service").first()
        if row is None:
            raise Http404
        self.require_side(row.assigned_location, side)
        return row

    def read_body_members(self, name: str, members: RequestData, *, required: bool = True) -> Attrs:
        """Read the members nested under a name in the body. An optional body may be empty."""
        if not required and self.body in (None, {}):
            return {}
        return validate_members(members, dict(self.unwrap_body(name)))

    def change(self, side: Side, transition: Callable[..., object], **values: object) -> HttpResponse:
        """Perform a transition on the fulfillment order in the path, and return the fulfillment order."""
        with transaction.atomic():
            row = self.get_for_side(side)
            transition(row, actor=self.actor, at=self.at, **values)
            return self.render_object(row.pk)

    def render_several(self, **rows: FulfillmentOrder | None) -> HttpResponse:
        """Return a response with several fulfillment orders. Each argument becomes a member of the response."""
        rendered = self.get_read_plan().read_ids([row.pk for row in rows.values() if row is not None], self.context)
        return self.json_response({name: None if row is None else rendered[row.pk] for name, row in rows.items()})


class FulfillmentOrderViewSet(FulfillmentOrderBaseViewSet):
    """``/fulfillment_orders``: read fulfillment orders and perform the merchant's actions."""

    query_parameters = {"retrieve": ("fields", "include_financial_summaries", "include_order_reference_fields")}
    sides = {
        "cancel": MERCHANT_SIDE,
        "close": WORKER_SIDE,
        "hold_back": MERCHANT_SIDE,
        "release_hold": MERCHANT_SIDE,
        "move": MERCHANT_SIDE,
        "mark_as_open": MERCHANT_SIDE,
        "reschedule": MERCHANT_SIDE,
        "set_deadlines": MERCHANT_SIDE,
    }
    request_bodies = {
        "cancel": {"type": "object"},
        "close": create_body_schema("fulfillment_order", MESSAGE, required=False),
        "hold_back": create_body_schema("fulfillment_hold", _HOLD),
        "release_hold": {"type": "object"},
        "move": create_body_schema("fulfillment_order", _MOVE),
        "mark_as_open": {"type": "object"},
        "reschedule": create_body_schema("fulfillment_order", _RESCHEDULE),
        "set_deadlines": _DEADLINE,
    }
    responses = {
        "cancel": create_response_schema("fulfillment_order", maybe=("replacement_fulfillment_order",)),
        "close": ONE,
        "hold_back": ONE,
        "release_hold": ONE,
        "move": create_response_schema(
            "original_fulfillment_order", "moved_fulfillment_order", maybe=("remaining_fulfillment_order",)
        ),
        "mark_as_open": ONE,
        "reschedule": ONE,
        "set_deadlines": {"type": "object", "maxProperties": 0},
        "locations_for_move": {
            "type": "object",
            "required": ["locations_for_move"],
            "properties": {"locations_for_move": {"type": "array", "items": _CANDIDATE}},
        },
    }

    def cancel(self, request: Request, **_: int) -> HttpResponse:
        """Cancel a fulfillment order that is not in progress, and move its items to a new fulfillment order."""
        with transaction.atomic():
            row, replacement = transitions.cancel_fulfillment_order(
                self.get_for_side(Side.MERCHANT), actor=self.actor, at=self.at
            )
            return self.render_several(fulfillment_order=row, replacement_fulfillment_order=replacement)

    def close(self, request: Request, **_: int) -> HttpResponse:
        """Close a fulfillment order as incomplete, and move its unfulfilled items to a new fulfillment order."""
        attrs = self.read_body_members("fulfillment_order", MESSAGE, required=False)
        return self.change(Side.WORKER, transitions.close_fulfillment_order, message=attrs.get("message") or "")

    def hold_back(self, request: Request, **_: int) -> HttpResponse:
        """Place a fulfillment order, or some of its items, on hold."""
        attrs = self.read_body_members("fulfillment_hold", _HOLD)
        return self.change(
            Side.MERCHANT,
            transitions.hold_fulfillment_order,
            reason=attrs["reason"],
            notes=attrs.get("reason_notes") or "",
            lines=attrs.get(LINES),
        )

    def release_hold(self, request: Request, **_: int) -> HttpResponse:
        """Release all holds of a fulfillment order."""
        return self.change(Side.MERCHANT, transitions.release_hold)

    def mark_as_open(self, request: Request, **_: int) -> HttpResponse:
        """Open a scheduled fulfillment order before its scheduled time."""
        return self.change(Side.MERCHANT, transitions.mark_as_open)

    def reschedule(self, request: Request, **_: int) -> HttpResponse:
        """Reschedule a scheduled fulfillment order."""
        attrs = self.read_body_members("fulfillment_order", _RESCHEDULE)
        fulfill_at = attrs["new_fulfill_at"]
        return self.change(Side.MERCHANT, transitions.reschedule_fulfillment_order, fulfill_at=fulfill_at)

    def set_deadlines(self, request: Request, **_: int) -> HttpResponse:
        """Set the deadline of several fulfillment orders in one transaction."""
        attrs = validate_members(_DEADLINE, self.body)
        pks = attrs["fulfillment_order_ids"]
        with transaction.atomic():
            rows = self.get_queryset()
            for row in rows.filter(pk__in=pks).select_related("assigned_location__service").order_by("pk"):
                self.require_side(row.assigned_location, Side.MERCHANT)
            transitions.set_deadlines(rows, pks, fulfill_by=attrs["fulfillment_deadline"], actor=self.actor, at=self.at)
        return self.json_response({})

    def move(self, request: Request, **_: int) -> HttpResponse:
        """Move a fulfillment order, or some of its items, to another location."""
        attrs = self.read_body_members("fulfillment_order", _MOVE)
        with transaction.atomic():
            row = self.get_for_side(Side.MERCHANT)
            original, moved, remaining = moves.move_to_location(
                row, attrs["new_location_id"], lines=attrs.get(LINES), actor=self.actor, at=self.at
            )
            # The response shows the result even if the app's scopes do not cover the new location.
            return self.render_several(
                original_fulfillment_order=original,
                moved_fulfillment_order=moved,
                remaining_fulfillment_order=remaining,
            )

    def locations_for_move(self, request: Request, **_: int) -> HttpResponse:
        """List all active locations. If the fulfillment order can't move to a location, the response has the reason."""
        locations = [
            {"location": {"id": location.pk, "name": location.name}, "message": message, "movable": not message}
            for location, message in moves.get_move_candidates(self.get_object())
        ]
        return self.json_response({"locations_for_move": locations})


class OrderFulfillmentOrderViewSet(FulfillmentOrderBaseViewSet):
    parents = {"order_id": Order}
    query_parameters = {
        "list": ("limit", "page_info", "fields", "include_financial_summaries", "include_order_reference_fields")
    }


class AssignmentFilter(ChoiceFilter):
    def __init__(self) -> None:
        super().__init__("request_status", words=tuple(ASSIGNMENTS))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value is None else qs.filter(**ASSIGNMENTS[value])


class AssignedFulfillmentOrderFilter(ResourceFilter):
    assignment_status = AssignmentFilter()


# The parameter's name contains brackets, so the filter cannot be declared as a class attribute.
AssignedFulfillmentOrderFilter.base_filters[LOCATIONS] = IdsFilter("assigned_location_id")


class AssignedFulfillmentOrderViewSet(FulfillmentOrderBaseViewSet):
    """``/assigned_fulfillment_orders``: fulfillment orders at the locations of the app's own services."""

    filterset_class = AssignedFulfillmentOrderFilter
    sides = {"list": (Scope.OWN.read,)}

    @cached_property
    def query(self) -> dict[str, str]:
        """Return the query parameters, with all values of the location parameter joined by commas."""
        query = dict(super().query)
        location_ids = self.request._request.GET.getlist(LOCATIONS) or self.request._request.GET.getlist("location_ids")
        if location_ids:
            query[LOCATIONS] = ",".join(location_ids)
        return query

    def get_queryset(self) -> QuerySet[FulfillmentOrder]:
        """Return the fulfillment orders of the app's own services, even if the app's scopes cover other locations."""
        return FulfillmentOrder.objects.filter(assigned_location__service__app_id=self.access.installation.app_id)
