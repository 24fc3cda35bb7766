"""Fulfillments on the order page: tracking, events, and cancellation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.forms.times import ShopDateTimeField
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.admin.staff_request import EventKwargs
from apps.core.exceptions import DomainError
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.actions import FulfillmentAction
from apps.fulfillment.admin.forms import message_field
from apps.fulfillment.admin.fulfill_form import TrackingForm, get_row_or_404
from apps.fulfillment.admin.permissions import CHANGE
from apps.fulfillment.domain import carriers, fulfillments, tracking
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentLine, FulfillmentOrder
from apps.orders.admin.page_context import get_summary_context
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order

Status = Fulfillment.Status
STATUS_COLORS: dict[str, str] = {
    Status.PENDING: "info",
    Status.OPEN: "info",
    Status.SUCCESS: "success",
    Status.CANCELLED: "default",
    Status.ERROR: "danger",
    Status.FAILURE: "danger",
}
# The statuses in which a fulfillment can't be changed.
FINAL_STATUSES = (Status.CANCELLED, Status.ERROR, Status.FAILURE)


class NewTrackingForm(TrackingForm):
    notify = forms.BooleanField(label=gettext_lazy("Notify the customer by email"), required=False)

    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        """Fill in the current tracking information.

        The carrier and URLs are blank if they were derived from the numbers. If staff change the numbers, the carrier
        and URLs are then derived from the new numbers.
        """
        numbers = parcel.tracking_numbers
        completed = tracking.complete_tracking({"numbers": numbers})
        is_derived = bool(numbers) and (list(completed.urls), completed.company) == (
            parcel.tracking_urls,
            parcel.tracking_company,
        )
        initial = {
            "numbers": "\n".join(numbers),
            "company": "" if is_derived else parcel.tracking_company,
            "urls": "" if is_derived else "\n".join(parcel.tracking_urls),
        }
        super().__init__(data, initial=initial)


class EventForm(forms.Form):
    status = forms.ChoiceField(label=gettext_lazy("Status"), choices=FulfillmentEvent.Status.choices)
    happened_at = ShopDateTimeField(gettext_lazy("Time"))
    message = message_field(gettext_lazy("Message"))
    city = forms.CharField(label=gettext_lazy("City"), required=False, max_length=255)
    country = forms.CharField(label=gettext_lazy("Country"), required=False, max_length=255)
    estimated_delivery_at = ShopDateTimeField(gettext_lazy("Estimated delivery"))

    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        """Create the form, with "in transit" and the current time as initial values."""
        super().__init__(data, initial={"status": FulfillmentEvent.Status.IN_TRANSIT, "happened_at": timezone.now()})
        self.fields["estimated_delivery_at"].required = False


class CancelForm(forms.Form):
    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        super().__init__(data)


def _update_tracking(parcel: Fulfillment, form: Any, by: EventKwargs) -> object:
    return tracking.update_tracking(parcel, form.tracking, notify=form.cleaned_data["notify"], **by)


def _add_event(parcel: Fulfillment, form: Any, by: EventKwargs) -> object:
    values = {name: value for name, value in form.cleaned_data.items() if value not in {None, ""}}
    return tracking.add_event(parcel, values, **by)


def _cancel(parcel: Fulfillment, form: Any, by: EventKwargs) -> object:
    return fulfillments.cancel_fulfillment(parcel, **by)


ACTIONS = {
    "tracking": FulfillmentAction(
        gettext_lazy("Update tracking…"),
        gettext_lazy("Replaces the current tracking information."),
        gettext_lazy("Tracking updated."),
        NewTrackingForm,
        _update_tracking,
    ),
    "event": FulfillmentAction(
        gettext_lazy("Add tracking event…"),
        gettext_lazy(
            "The customer sees the event on the order status page. The latest event sets the shipment status."
        ),
        gettext_lazy("Event added."),
        EventForm,
        _add_event,
    ),
    "cancel": FulfillmentAction(
        gettext_lazy("Cancel fulfillment…"),
        gettext_lazy("Cancels this fulfillment and moves its items to a new fulfillment order."),
        gettext_lazy("Fulfillment canceled. The items are now unfulfilled."),
        CancelForm,
        _cancel,
        "danger",
    ),
}


@dataclass(frozen=True, slots=True)
class FulfillmentCard:
    row: Fulfillment
    lines: Sequence[FulfillmentLine]
    events: Sequence[FulfillmentEvent]

    @property
    def state(self) -> tuple[str, str]:
        return STATUS_COLORS[self.row.status], self.row.get_status_display()

    @property
    def shipment_status_label(self) -> str:
        status = self.row.shipment_status
        return str(FulfillmentEvent.Status(status).label) if status in FulfillmentEvent.Status.values else status

    @property
    def tracking_links(self) -> list[tuple[str, str]]:
        """Return each tracking number with its URL, or with a blank URL if the URL is not safe to link."""
        urls = [*self.row.tracking_urls, *([""] * len(self.row.tracking_numbers))]
        return [
            (number, tracking.get_safe_url(url)) for number, url in zip(self.row.tracking_numbers, urls, strict=False)
        ]

    @property
    def unnumbered_urls(self) -> list[str]:
        return [url for url in self.row.tracking_urls[len(self.row.tracking_numbers) :] if tracking.get_safe_url(url)]

    @property
    def is_final(self) -> bool:
        return self.row.status in FINAL_STATUSES


def get_fulfillment_cards(order: Order) -> list[FulfillmentCard]:
    rows = Fulfillment.rows().filter(order=order).select_related("location").order_by("-pk")
    rows = rows.prefetch_related(Prefetch("lines", FulfillmentLine.rows().select_related("line_item").order_by("pk")))
    rows = rows.prefetch_related(Prefetch("events", FulfillmentEvent.rows().order_by("-happened_at", "-pk")))
    return [FulfillmentCard(row, list(row.lines.all()), list(row.events.all())) for row in rows]


class FulfillmentPages(ExtraViewsAdmin[FulfillmentOrder]):
    @extra_view("fulfillments/<path:object_id>/do/<str:name>/", CHANGE, name="parcel", keyed=True)
    def fulfillment_action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        row = get_row_or_404(Fulfillment.rows().select_related("order", "location"), object_id)
        if name not in ACTIONS:
            raise Http404(f"No action {name}")
        action = ACTIONS[name]
        if row.status in FINAL_STATUSES:
            self.message_user(
                request,
                _("{name} can't be changed. Status: {status}.").format(
                    name=row, status=lowercase_label(row.get_status_display())
                ),
                messages.ERROR,
            )
            return HttpResponseRedirect(get_fulfillment_url(row))
        form = action.form(row, get_post_data(request))
        if form.is_bound and form.is_valid():
            try:
                action.run(row, form, self.event_kwargs(request))
            except DomainError as error:
                form.add_error(None, format_errors(error))
            else:
                self.message_user(request, action.success_message, messages.SUCCESS)
                return HttpResponseRedirect(get_fulfillment_url(row))
        return self.page(
            request,
            "panel/fulfillment/fulfillment_action_form.html",
            f"{row}: {lowercase_label(str(action.label).removesuffix('…'))}",
            row=row,
            doing=action,
            form=form,
            carriers=[carrier.name for carrier in carriers.CARRIERS],
            back=get_fulfillment_url(row),
            **get_summary_context(get_line_items(row.order)),
        )

    @extra_view("events/<path:object_id>/remove/", CHANGE, keyed=True)
    def remove_event_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        event = get_row_or_404(FulfillmentEvent.rows().select_related("fulfillment"), object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        tracking.delete_event(event, **self.event_kwargs(request))
        self.message_user(request, _("Removed the event “{event}”.").format(event=event), messages.SUCCESS)
        return HttpResponseRedirect(get_fulfillment_url(event.fulfillment))


def get_fulfillment_url(row: Fulfillment) -> str:
    return f"{reverse('admin:orders_order_change', args=(row.order_id,))}#fulfillment-{row.pk}"
