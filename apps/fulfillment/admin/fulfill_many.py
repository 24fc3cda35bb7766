"""The page for fulfilling several orders at once, with typed tracking numbers or a list from a spreadsheet.

Each order is fulfilled in its own transaction, so an order that can't be fulfilled does not affect the others. The form
needs no key: the fulfillment orders it names are closed afterwards, so a second submission changes nothing, and names
the fulfillments of the first one.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.lists.row_ids import parse_ids
from apps.core.admin.lists.selection import get_selected_ids
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.admin.model_admin.registry import ListAction, list_actions
from apps.core.admin.staff_request import EventKwargs
from apps.core.db.transient_errors import recover_from_transient_error
from apps.core.exceptions import DomainError
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.fulfillment_detail import FINAL_STATUSES
from apps.fulfillment.admin.fulfillment_order_cards import FulfillmentOrderCard, load_cards
from apps.fulfillment.admin.permissions import CHANGE
from apps.fulfillment.domain import carriers, fulfillments, tracking
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.fulfillment.models.orders import Status
from apps.orders.models import Order

# The page size of the list.
MAX_ROWS = 100
_FILTERS = "_changelist_filters"
_SEPARATORS = re.compile(r"[\t,;]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to an order or a pasted line. ``name`` is the order name, or the line that matches no order."""

    name: str
    text: str
    is_fulfilled: bool = False
    order_id: int | None = None


@dataclass(slots=True)
class _Parcel:
    """The selected fulfillment orders of an order at one location, with their tracking numbers."""

    cards: list[FulfillmentOrderCard] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.cards[0].row.order)

    @property
    def order_id(self) -> int:
        return self.cards[0].row.order_id


class FulfillManyForm(forms.Form):
    pasted = forms.CharField(
        label=gettext_lazy("List of tracking numbers"),
        required=False,
        max_length=100_000,
        help_text=gettext_lazy(
            "One order per line: order number and tracking number, separated by a tab, comma or semicolon. You can "
            "paste two columns of a spreadsheet."
        ),
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "autocomplete": "off"}),
    )
    company = forms.CharField(
        label=gettext_lazy("Carrier"),
        required=False,
        max_length=255,
        help_text=gettext_lazy("For all orders. Leave blank to detect the carrier from each number."),
        widget=forms.TextInput(attrs={"list": "carriers", "autocomplete": "off"}),
    )
    without_number = forms.BooleanField(
        label=gettext_lazy("Also fulfill orders without a tracking number"), required=False
    )
    notify = forms.BooleanField(label=gettext_lazy("Notify customers by email"), required=False, initial=True)

    def __init__(self, cards: Sequence[FulfillmentOrderCard], data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.cards = cards
        for card in cards:
            self.fields[_get_field_name(card)] = forms.CharField(
                label=_("Tracking number of {order}").format(order=card.row.order),
                required=False,
                max_length=tracking.MAX_LENGTH,
                widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
            )

    @property
    def common_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.base_fields]

    @property
    def number_rows(self) -> list[tuple[FulfillmentOrderCard, forms.BoundField]]:
        return [(card, self[_get_field_name(card)]) for card in self.cards if card.is_fulfillable]

    def fulfill(self, by: EventKwargs) -> list[Outcome]:
        """Fulfill the selected orders, and return what happened to each order and each line that matches no order."""
        parcels: dict[tuple[int, int], _Parcel] = defaultdict(_Parcel)
        for card in sorted(self.cards, key=lambda card: card.row.pk):
            parcel = parcels[card.row.order_id, card.row.assigned_location_id]
            parcel.cards.append(card)
            parcel.numbers += _split_cells(self.cleaned_data[_get_field_name(card)])
        problems = list(_assign_pasted_numbers(self.cleaned_data["pasted"], list(parcels.values())))
        return [*problems, *(self._fulfill_parcel(parcel, by) for _key, parcel in sorted(parcels.items()))]

    def _fulfill_parcel(self, parcel: _Parcel, by: EventKwargs) -> Outcome:
        rows = [card.row for card in parcel.cards if card.is_fulfillable]
        if not rows:
            return Outcome(parcel.name, _explain_refusal(parcel.cards[0].row), order_id=parcel.order_id)
        numbers = list(dict.fromkeys(parcel.numbers))
        if any(len(number) > tracking.MAX_LENGTH for number in numbers):
            text = _("Not fulfilled, because a tracking number is too long. At most {limit} characters are possible.")
            return Outcome(parcel.name, text.format(limit=tracking.MAX_LENGTH), order_id=parcel.order_id)
        if not numbers and not self.cleaned_data["without_number"]:
            return Outcome(
                parcel.name, _("Not fulfilled, because it has no tracking number."), order_id=parcel.order_id
            )
        try:
            fulfillment = fulfillments.create_fulfillment(
                [FulfillmentPart(row) for row in rows],
                tracking=tracking.complete_tracking({"numbers": numbers, "company": self.cleaned_data["company"]}),
                notify=self.cleaned_data["notify"] and bool(rows[0].order.email),
                **by,
            )
        except DomainError as error:
            text = _("Not fulfilled: {reason}").format(reason=format_errors(error))
            return Outcome(parcel.name, text, order_id=parcel.order_id)
        except DatabaseError as error:
            # The orders before this one are saved, so the page must show what happened to each order.
            recover_from_transient_error(error)
            text = _("Not fulfilled, because the database did not respond in time. Try again.")
            return Outcome(parcel.name, text, order_id=parcel.order_id)
        text = _("Fulfilled as {name}.").format(name=fulfillment)
        if numbers:
            text = _("Fulfilled as {name}, tracking number {numbers}.").format(
                name=fulfillment, numbers=", ".join(numbers)
            )
        return Outcome(parcel.name, text, is_fulfilled=True, order_id=parcel.order_id)


def _explain_refusal(row: FulfillmentOrder) -> str:
    return _explain_refusals([row])[row.pk]


def _explain_refusals(rows: Sequence[FulfillmentOrder]) -> dict[int, str]:
    """Return why the fulfillment orders can't be fulfilled, keyed by id, in one query."""
    closed = [row.pk for row in rows if row.status == Status.CLOSED]
    fulfilled = Fulfillment.rows().filter(lines__fulfillment_order__in=closed).exclude(status__in=FINAL_STATUSES)
    newest = dict(fulfilled.order_by("pk").values_list("lines__fulfillment_order", "name"))
    return {row.pk: _explain_status(row, newest.get(row.pk, "")) for row in rows}


def _explain_status(row: FulfillmentOrder, newest: str) -> str:
    if row.is_unfinished and row.assigned_location.legacy:
        request = lowercase_label(row.get_request_status_display())
        text = _(
            "Not fulfilled, because the fulfillment service has not accepted the request. Request status: {status}."
        )
        return text.format(status=request)
    if newest:
        return _("Already fulfilled as {name}.").format(name=newest)
    status = lowercase_label(row.get_status_display())
    return _("Not fulfilled, because there is nothing to fulfill now. Status: {status}.").format(status=status)


def _assign_pasted_numbers(text: str, parcels: Sequence[_Parcel]) -> Iterator[Outcome]:
    """Add the pasted tracking numbers to the parcels, and yield the lines that can't be assigned to a parcel."""
    by_name: dict[str, list[_Parcel]] = defaultdict(list)
    for parcel in parcels:
        by_name[_normalize_name(parcel.name)].append(parcel)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        name, *numbers = _split_cells(line) or [""]
        found = by_name.get(_normalize_name(name), [])
        if not found:
            # The first line can have the names of the columns.
            if index or any(character.isdigit() for character in name):
                yield Outcome(line[:100], _("Not used, because no selected order has this number."))
        elif not numbers:
            yield Outcome(line[:100], _("Not used, because the line has no tracking number."))
        elif len(found) > 1:
            yield Outcome(
                line[:100],
                _("Not used, because the order has items at several locations. Enter its numbers in the table."),
            )
        else:
            found[0].numbers += numbers


def _split_cells(text: str) -> list[str]:
    return [cell for part in _SEPARATORS.split(text) if (cell := part.strip().strip('"').strip())]


def _normalize_name(name: str) -> str:
    return name.removeprefix("#").casefold()


def _get_field_name(card: FulfillmentOrderCard) -> str:
    return f"number-{card.row.pk}"


class FulfillManyPages(ExtraViewsAdmin[FulfillmentOrder]):
    @extra_view("fulfill-selected/", CHANGE, name="fulfill_many")
    def fulfill_many_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form for the selected rows, or fulfill the orders and show what happened to each.

        The query string has the ids of fulfillment orders or, from the order list, of ``orders``.
        """
        order_ids = parse_ids(request.GET.get("orders", ""), limit=MAX_ROWS)
        ids = parse_ids(request.GET.get("ids", ""), limit=MAX_ROWS)
        orders = list(Order.objects.filter(pk__in=order_ids).order_by("pk")) if order_ids else []
        cards = _load_order_cards(orders) if orders else _load_cards(ids)
        if not cards and not orders:
            self.message_user(request, _("Select the fulfillment orders to fulfill."), messages.WARNING)
            return HttpResponseRedirect(self.url("changelist"))
        skipped = _list_skipped(cards, orders)
        form = FulfillManyForm(cards, get_post_data(request), initial={"without_number": bool(orders)})
        outcomes: list[Outcome] = []
        if form.is_bound and form.is_valid():
            known = {card.row.order_id for card in cards}
            outcomes = form.fulfill(self.event_kwargs(request))
            outcomes += [Outcome(str(row), reason, order_id=row.pk) for row, reason in skipped if row.pk not in known]
            form = FulfillManyForm(_load_order_cards(orders) if orders else _load_cards(ids), initial=form.initial)
            skipped = []
        return self.page(
            request,
            "panel/fulfillment/fulfill_many.html",
            _("Fulfill selected orders"),
            form=form,
            outcomes=outcomes,
            skipped=skipped,
            back=_get_order_list_url(request) if orders else "",
            number_selected=len({card.row.order_id for card, _field in form.number_rows}),
            number_fulfilled=sum(outcome.is_fulfilled for outcome in outcomes),
            carriers=[carrier.name for carrier in carriers.CARRIERS],
            **(self.show_under(request, Order) if orders else {}),
        )


def _load_cards(ids: Sequence[int]) -> list[FulfillmentOrderCard]:
    return load_cards(_get_rows().filter(pk__in=ids))


def _load_order_cards(orders: Sequence[Order]) -> list[FulfillmentOrderCard]:
    """Return the unfinished fulfillment orders of the orders, or the newest finished one of an order without these."""
    rows_by_order: dict[int, list[FulfillmentOrder]] = defaultdict(list)
    for row in _get_rows().filter(order__in=orders):
        rows_by_order[row.order_id].append(row)
    return load_cards(
        row for rows in rows_by_order.values() for row in [row for row in rows if row.is_unfinished] or rows[-1:]
    )


def _get_rows() -> QuerySet[FulfillmentOrder]:
    return FulfillmentOrder.rows().select_related("order__customer", "assigned_location__service").order_by("pk")


def _list_skipped(cards: Sequence[FulfillmentOrderCard], orders: Sequence[Order]) -> list[tuple[Order, str]]:
    """Return the orders that can't be fulfilled with the reasons, in the order of the page."""
    reasons = _explain_refusals([card.row for card in cards if not card.is_fulfillable])
    skipped = [(card.row.order, reasons[card.row.pk]) for card in cards if card.row.pk in reasons]
    known = {card.row.order_id for card in cards}
    return [*skipped, *((order, _explain_absence(order)) for order in orders if order.pk not in known)]


def _explain_absence(order: Order) -> str:
    """Return why an order without fulfillment orders can't be fulfilled."""
    if order.cancelled_at is not None:
        return _("The order is canceled.")
    if order.fulfillment_status == Order.FulfillmentStatus.FULFILLED:
        return _("All items are already fulfilled.")
    return _("Not fulfilled, because the order has no items to fulfill.")


@admin.action(description=gettext_lazy("Fulfill items…"))
def fulfill_orders(screen: ShopOwnedAdmin[Order], request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse:
    """Open the page that fulfills the selected orders of the order list."""
    ids = get_selected_ids(request, queryset, limit=MAX_ROWS)
    query = urlencode({"orders": ",".join(map(str, ids)), _FILTERS: request.GET.urlencode()})
    return HttpResponseRedirect(f"{reverse('admin:fulfillment_fulfillmentorder_fulfill_many')}?{query}")


def _get_order_list_url(request: HttpRequest) -> str:
    return f"{reverse('admin:orders_order_changelist')}?{request.GET.get(_FILTERS, '')}"


list_actions.add(ListAction(Order, fulfill_orders, CHANGE, order=10))
