"""The routes of fulfillment orders that the merchant's side takes, and reading them."""

from collections.abc import Callable
from functools import cached_property

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.requests.views import ONE
from apps.api.resources.fields import BooleanField, ChoiceField, DateTimeField, IntegerField
from apps.api.resources.filters import IdsFilter, ResourceFilter, WordFilter
from apps.api.resources.members import ObjectField, ObjectsField, ValuesField, read_members
from apps.api.resources.serializers import declaration
from apps.api.rows.plans import Plan, plan_for
from apps.api.shapes import Attrs, Data, Schema
from apps.api.viewsets import ShopViewSet
from apps.fulfillment.api.access import MERCHANT_SIDE, WORKER_SIDE, ScopedByLocation
from apps.fulfillment.api.orders import REFERENCES, FulfillmentOrderSerializer, SummarizedSerializer
from apps.fulfillment.domain import moving, transitions, visibility
from apps.fulfillment.domain.states import Side
from apps.fulfillment.domain.units import LINES
from apps.fulfillment.domain.visibility import Scope
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.api.fields import string
from apps.orders.models import Order

_SHOWN: Schema = {"$ref": "#/components/schemas/FulfillmentOrder"}
_OR_NONE: Schema = {"oneOf": [_SHOWN, {"type": "null"}]}
MAX_LINES = 500


def lines() -> ObjectsField:
    """Units of lines, as bodies name them."""
    return ObjectsField(
        {
            "id": IntegerField(min_value=1),
            "quantity": IntegerField(required=False, allow_null=True),
        },
        most=MAX_LINES,
    )


_CANDIDATE: Schema = {
    "type": "object",
    "properties": {
        "location": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        },
        "message": {"type": "string"},
        "movable": {"type": "boolean"},
    },
}
MESSAGE = {"message": string(1000)}
_HOLD = {
    "reason": ChoiceField(choices=FulfillmentHold.Reason.choices),
    "reason_notes": string(1000),
    LINES: lines(),
}
_MOVE = {"new_location_id": IntegerField(min_value=1), LINES: lines()}
_RESCHEDULE = {"new_fulfill_at": DateTimeField()}
_DEADLINE = {
    "fulfillment_order_ids": ValuesField(IntegerField(min_value=1), required=True, allow_null=False),
    "fulfillment_deadline": DateTimeField(),
}


def wrapped(name: str, members: Data, *, required: bool = True) -> Schema:
    """The body of an action: its members under a name."""
    return {name: ObjectField(members, required=required, allow_null=not required)}


def answer(*names: str, maybe: tuple[str, ...] = ()) -> Schema:
    """An answer of several fulfillment orders, of which some may be none."""
    properties = {**dict.fromkeys(names, _SHOWN), **dict.fromkeys(maybe, _OR_NONE)}
    return {"type": "object", "required": list(properties), "properties": properties}


class FulfillmentOrderViews(ScopedByLocation, ShopViewSet[FulfillmentOrder]):
    """What all routes of fulfillment orders have in common: who sees what, and how it is shown."""

    model = FulfillmentOrder
    serializer_class = FulfillmentOrderSerializer
    singular = "fulfillment_order"
    plural = "fulfillment_orders"

    def get_queryset(self) -> QuerySet[FulfillmentOrder]:
        """Those at locations that the caller's scopes cover."""
        rows = super().get_queryset()
        return rows.filter(visibility.visible(self.access.granted, self.access.installation.app_id))

    @property
    def is_plain(self) -> bool:
        """What is seen depends on the caller."""
        return False

    def plan(self) -> Plan:
        """How it is read: with what the query includes."""
        names = self.fields
        if names is None:
            names = frozenset(declaration(FulfillmentOrderSerializer)) - (
                frozenset() if self._includes("include_order_reference_fields") else REFERENCES
            )
        summarized = self._includes("include_financial_summaries")
        serializer = SummarizedSerializer if summarized else FulfillmentOrderSerializer
        return plan_for(serializer, self.version, names)

    def _includes(self, name: str) -> bool:
        return BooleanField.WORDS.get(self.query.get(name, ""), False)

    def chosen(self, side: Side) -> FulfillmentOrder:
        """The fulfillment order that the path names, where the caller may take a side in it."""
        row = self.get_queryset().filter(pk=self.kwargs["id"]).select_related("assigned_location__service").first()
        if row is None:
            raise Http404
        self.may(row.assigned_location, side)
        return row

    def inner(self, name: str, members: Data, *, required: bool = True) -> Attrs:
        """The members of the body under a name; of one that is not required, nothing means none."""
        if not required and self.body in (None, {}):
            return {}
        return read_members(members, dict(self.unwrapped(name)))

    def several(self, **rows: FulfillmentOrder | None) -> HttpResponse:
        """An answer of several fulfillment orders by name, as they are now."""
        found = self.plan().read_ids([row.pk for row in rows.values() if row is not None], self.context)
        return self.json({name: None if row is None else found[row.pk] for name, row in rows.items()})


class FulfillmentOrderViewSet(FulfillmentOrderViews):
    """``/fulfillment_orders``: read, and moved on by the merchant."""

    queries = {"retrieve": ("fields", "include_financial_summaries", "include_order_reference_fields")}
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
    bodies = {
        "cancel": {"type": "object"},
        "close": wrapped("fulfillment_order", MESSAGE, required=False),
        "hold_back": wrapped("fulfillment_hold", _HOLD),
        "release_hold": {"type": "object"},
        "move": wrapped("fulfillment_order", _MOVE),
        "mark_as_open": {"type": "object"},
        "reschedule": wrapped("fulfillment_order", _RESCHEDULE),
        "set_deadlines": _DEADLINE,
    }
    answers = {
        "cancel": answer("fulfillment_order", maybe=("replacement_fulfillment_order",)),
        "close": ONE,
        "hold_back": ONE,
        "release_hold": ONE,
        "move": answer("original_fulfillment_order", "moved_fulfillment_order", maybe=("remaining_fulfillment_order",)),
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
        """Cancel a fulfillment order that nobody has begun; its units go to a new one."""
        with transaction.atomic():
            row, replacement = transitions.cancel(self.chosen(Side.MERCHANT), actor=self.actor, at=self.at)
            return self.several(fulfillment_order=row, replacement_fulfillment_order=replacement)

    def close(self, request: Request, **_: int) -> HttpResponse:
        """Close a fulfillment order whose work will not be finished; what was not sent goes to a new one."""
        given = self.inner("fulfillment_order", MESSAGE, required=False)
        with transaction.atomic():
            row = self.chosen(Side.WORKER)
            transitions.close(row, actor=self.actor, at=self.at, message=given.get("message") or "")
            return self.object_response(row.pk)

    def hold_back(self, request: Request, **_: int) -> HttpResponse:
        """Hold a fulfillment order, or some of its units, for a reason."""
        given = self.inner("fulfillment_hold", _HOLD)
        with transaction.atomic():
            row = self.chosen(Side.MERCHANT)
            transitions.hold(
                row,
                reason=given["reason"],
                notes=given.get("reason_notes") or "",
                lines=given.get(LINES),
                actor=self.actor,
                at=self.at,
            )
            return self.object_response(row.pk)

    def release_hold(self, request: Request, **_: int) -> HttpResponse:
        """Release a fulfillment order from all its holds."""
        return self._plainly(transitions.release_hold)

    def mark_as_open(self, request: Request, **_: int) -> HttpResponse:
        """Open a scheduled fulfillment order before its time."""
        return self._plainly(transitions.mark_as_open)

    def _plainly(self, change: Callable[..., FulfillmentOrder]) -> HttpResponse:
        with transaction.atomic():
            row = self.chosen(Side.MERCHANT)
            change(row, actor=self.actor, at=self.at)
            return self.object_response(row.pk)

    def reschedule(self, request: Request, **_: int) -> HttpResponse:
        """Let a scheduled fulfillment order be due at another moment."""
        given = self.inner("fulfillment_order", _RESCHEDULE)
        with transaction.atomic():
            row = self.chosen(Side.MERCHANT)
            transitions.reschedule(row, fulfill_at=given["new_fulfill_at"], actor=self.actor, at=self.at)
            return self.object_response(row.pk)

    def set_deadlines(self, request: Request, **_: int) -> HttpResponse:
        """Set until when fulfillment orders are to be sent; all or none."""
        given = read_members(_DEADLINE, self.body)
        pks = given["fulfillment_order_ids"]
        with transaction.atomic():
            rows = self.get_queryset()
            for row in rows.filter(pk__in=pks).select_related("assigned_location__service").order_by("pk"):
                self.may(row.assigned_location, Side.MERCHANT)
            transitions.set_deadlines(rows, pks, fulfill_by=given["fulfillment_deadline"], actor=self.actor, at=self.at)
        return self.json({})

    def move(self, request: Request, **_: int) -> HttpResponse:
        """Let another location send a fulfillment order, or some of its units."""
        given = self.inner("fulfillment_order", _MOVE)
        with transaction.atomic():
            row = self.chosen(Side.MERCHANT)
            moved = moving.move(row, given["new_location_id"], lines=given.get(LINES), actor=self.actor, at=self.at)
            # What moved may be out of the caller's sight by now, but this once it is shown.
            return self.several(
                original_fulfillment_order=moved.original,
                moved_fulfillment_order=moved.moved,
                remaining_fulfillment_order=moved.remaining,
            )

    def locations_for_move(self, request: Request, **_: int) -> HttpResponse:
        """List the locations to which a fulfillment order could be moved, and why not to others."""
        found = [
            {
                "location": {"id": each.location.pk, "name": each.location.name},
                "message": each.message,
                "movable": each.movable,
            }
            for each in moving.candidates(self.get_object())
        ]
        return self.json({"locations_for_move": found})


class OrderFulfillmentOrderViewSet(FulfillmentOrderViews):
    """``/orders/{order_id}/fulfillment_orders``."""

    parents = {"order_id": Order}
    queries = {
        "list": ("limit", "page_info", "fields", "include_financial_summaries", "include_order_reference_fields")
    }


ASSIGNMENTS: dict[str, dict[str, str]] = {
    "cancellation_requested": {"request_status": RequestStatus.CANCELLATION_REQUESTED},
    "fulfillment_requested": {"request_status": RequestStatus.SUBMITTED, "status": Status.OPEN},
    "fulfillment_accepted": {"request_status": RequestStatus.ACCEPTED, "status": Status.IN_PROGRESS},
    "fulfillment_unsubmitted": {"request_status": RequestStatus.UNSUBMITTED, "status": Status.OPEN},
}
LOCATIONS = "location_ids[]"


class AssignmentFilter(WordFilter):
    """What is asked of the service."""

    def __init__(self) -> None:
        """The four words."""
        super().__init__("request_status", words=tuple(ASSIGNMENTS))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        return qs if value is None else qs.filter(**ASSIGNMENTS[value])


class AssignedFilter(ResourceFilter):
    """How the list of assigned fulfillment orders is narrowed."""

    assignment_status = AssignmentFilter()


# A name that no attribute can have.
AssignedFilter.base_filters[LOCATIONS] = IdsFilter("assigned_location_id")


class AssignedFulfillmentOrderViewSet(FulfillmentOrderViews):
    """``/assigned_fulfillment_orders``: those at the locations of the app's own services."""

    filterset_class = AssignedFilter
    sides = {"list": (Scope.OWN.read,)}

    @cached_property
    def query(self) -> dict[str, str]:
        """The query; of several locations, all."""
        query = dict(super().query)
        named = self.request._request.GET.getlist(LOCATIONS) or self.request._request.GET.getlist("location_ids")
        if named:
            query[LOCATIONS] = ",".join(named)
        return query

    def get_queryset(self) -> QuerySet[FulfillmentOrder]:
        """Those of the app's own services, whatever else its scopes cover."""
        return FulfillmentOrder.objects.filter(assigned_location__service__app_id=self.access.installation.app_id)
