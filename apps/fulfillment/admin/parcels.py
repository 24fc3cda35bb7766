"""What was sent, on the page of its order: how it is followed, what happened to it, and taking it back."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.fulfillment.admin.access import CHANGE
from apps.fulfillment.admin.finding import row_or_404
from apps.fulfillment.admin.forms import message, moment
from apps.fulfillment.admin.sending import TrackingForm, web_address
from apps.fulfillment.domain import carriers, fulfilling, tracking
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentLine, FulfillmentOrder
from apps.ground.errors import DomainError
from apps.ground.languages import lowered
from apps.orders.models import Order
from apps.panel.access import require
from apps.panel.once import posted
from apps.panel.requests import By
from apps.panel.screens.pages import ScreenPages
from apps.panel.wording import in_words

Status = Fulfillment.Status
LABELS: dict[str, str] = {
    Status.PENDING: "info",
    Status.OPEN: "info",
    Status.SUCCESS: "success",
    Status.CANCELLED: "default",
    Status.ERROR: "danger",
    Status.FAILURE: "danger",
}
# Taken back, or never came about.
ENDED = (Status.CANCELLED, Status.ERROR, Status.FAILURE)


class NewTrackingForm(TrackingForm):
    """By which numbers it is followed from now on."""

    notify = forms.BooleanField(label=gettext_lazy("Tell the customer by e-mail"), required=False)

    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        """As they are now, without what follows from the numbers: it would stay when they change."""
        numbers = parcel.tracking_numbers
        found = tracking.completed({"numbers": numbers})
        follows = bool(numbers) and (list(found.urls), found.company) == (parcel.tracking_urls, parcel.tracking_company)
        now = {
            "numbers": "\n".join(numbers),
            "company": "" if follows else parcel.tracking_company,
            "urls": "" if follows else "\n".join(parcel.tracking_urls),
        }
        super().__init__(data, initial=now)


class EventForm(forms.Form):
    """What happened to a parcel."""

    status = forms.ChoiceField(label=gettext_lazy("What happened"), choices=FulfillmentEvent.Status.choices)
    happened_at = moment(gettext_lazy("When"))
    message = message(gettext_lazy("In words"))
    city = forms.CharField(label=gettext_lazy("Town"), required=False, max_length=255)
    country = forms.CharField(label=gettext_lazy("Country"), required=False, max_length=255)
    estimated_delivery_at = moment(gettext_lazy("Expected to arrive"))

    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        """In transit, now."""
        super().__init__(data, initial={"status": FulfillmentEvent.Status.IN_TRANSIT, "happened_at": timezone.now()})
        self.fields["estimated_delivery_at"].required = False


class CancelForm(forms.Form):
    """Asks nothing."""

    def __init__(self, parcel: Fulfillment, data: Any = None) -> None:
        """There is nothing to show."""
        super().__init__(data)


def _track(parcel: Fulfillment, form: Any, by: By) -> object:
    return tracking.update_tracking(parcel, form.tracking, notify=form.cleaned_data["notify"], **by)


def _note(parcel: Fulfillment, form: Any, by: By) -> object:
    given = {name: value for name, value in form.cleaned_data.items() if value not in {None, ""}}
    return tracking.add_event(parcel, given, **by)


def _cancel(parcel: Fulfillment, form: Any, by: By) -> object:
    return fulfilling.cancel_fulfillment(parcel, **by)


@dataclass(frozen=True, slots=True)
class ParcelDoing:
    """Something that is done to what was sent; see ``doings.Doing``."""

    label: StrOrPromise
    says: StrOrPromise
    done: StrOrPromise
    form: Callable[..., forms.Form]
    run: Callable[[Fulfillment, Any, By], object]
    kind: str = ""


DOINGS = {
    "tracking": ParcelDoing(
        gettext_lazy("Update tracking…"),
        gettext_lazy("These numbers take the place of those that were said before."),
        gettext_lazy("The tracking is updated."),
        NewTrackingForm,
        _track,
    ),
    "event": ParcelDoing(
        gettext_lazy("Add an event…"),
        gettext_lazy(
            "The buyer sees it on the order's status page; how far the parcel is follows from what happened last."
        ),
        gettext_lazy("The event is added."),
        EventForm,
        _note,
    ),
    "cancel": ParcelDoing(
        gettext_lazy("Cancel the fulfillment…"),
        gettext_lazy("Its units were not sent after all: they go to a new fulfillment order."),
        gettext_lazy("The fulfillment is cancelled; its units are to be sent again."),
        CancelForm,
        _cancel,
        "danger",
    ),
}


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is shown of a fulfillment."""

    row: Fulfillment
    lines: Sequence[FulfillmentLine]
    events: Sequence[FulfillmentEvent]

    @property
    def state(self) -> tuple[str, str]:
        """The kind of the badge, and its text."""
        return LABELS[self.row.status], self.row.get_status_display()

    @property
    def whereabouts(self) -> str:
        """What happened last."""
        found = self.row.shipment_status
        return str(FulfillmentEvent.Status(found).label) if found in FulfillmentEvent.Status.values else found

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """The numbers, each with where it is followed; blank where that is no address for browsers."""
        urls = [*self.row.tracking_urls, *([""] * len(self.row.tracking_numbers))]
        return [(number, web_address(url)) for number, url in zip(self.row.tracking_numbers, urls, strict=False)]

    @property
    def further(self) -> list[str]:
        """Addresses without a number."""
        return [url for url in self.row.tracking_urls[len(self.row.tracking_numbers) :] if web_address(url)]

    @property
    def ended(self) -> bool:
        """Whether nothing can be done to it any more."""
        return self.row.status in ENDED


def parcels_of(order: Order) -> list[Parcel]:
    """What was sent of an order, what was sent last first."""
    rows = list(Fulfillment.rows().filter(order=order).select_related("location").order_by("-pk"))
    lines: dict[int, list[FulfillmentLine]] = defaultdict(list)
    for line in FulfillmentLine.rows().filter(fulfillment__in=rows).select_related("line_item").order_by("pk"):
        lines[line.fulfillment_id].append(line)
    events: dict[int, list[FulfillmentEvent]] = defaultdict(list)
    for event in FulfillmentEvent.rows().filter(fulfillment__in=rows).order_by("-happened_at", "-pk"):
        events[event.fulfillment_id].append(event)
    return [Parcel(row, lines[row.pk], events[row.pk]) for row in rows]


class Parcels(ScreenPages[FulfillmentOrder]):
    """Pages about what was sent, for the screen of fulfillment orders."""

    def parcel_urls(self) -> list[URLPattern]:
        """What can be done to it, and an event that is taken back."""
        return [
            self.action_url("fulfillments/<path:object_id>/do/<str:name>/", self.parcel_view, "parcel", keyed=True),
            self.action_url("events/<path:object_id>/remove/", self.remove_event_view, "remove_event", keyed=True),
        ]

    def parcel_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask what is to be known; then do it."""
        require(request, CHANGE)
        row = row_or_404(Fulfillment.rows().select_related("order", "location"), object_id)
        if name not in DOINGS:
            raise Http404(f"No action {name}")
        doing = DOINGS[name]
        if row.status in ENDED:
            self.message_user(
                request,
                _("{name} is {status}.").format(name=row, status=lowered(row.get_status_display())),
                messages.ERROR,
            )
            return HttpResponseRedirect(parcel_page(row))
        form = doing.form(row, posted(request))
        if form.is_bound and form.is_valid():
            try:
                doing.run(row, form, self.by(request))
            except DomainError as refusal:
                form.add_error(None, in_words(refusal))
            else:
                self.message_user(request, doing.done, messages.SUCCESS)
                return HttpResponseRedirect(parcel_page(row))
        return self.page(
            request,
            "panel/fulfillment/parcel.html",
            f"{row}: {lowered(str(doing.label).removesuffix('…'))}",
            row=row,
            doing=doing,
            form=form,
            carriers=[carrier.name for carrier in carriers.CARRIERS],
            back=parcel_page(row),
        )

    def remove_event_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take an event back."""
        require(request, CHANGE)
        event = row_or_404(FulfillmentEvent.rows().select_related("fulfillment"), object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        tracking.delete_event(event, **self.by(request))
        self.message_user(request, _("“{event}” is removed.").format(event=event), messages.SUCCESS)
        return HttpResponseRedirect(parcel_page(event.fulfillment))


def parcel_page(row: Fulfillment) -> str:
    """Where a fulfillment is shown."""
    return f"{reverse('admin:orders_order_change', args=(row.order_id,))}#fulfillment-{row.pk}"
