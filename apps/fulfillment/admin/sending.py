"""The screen that sends: of each location's fulfillment orders how many units, in which parcels, and who is told."""

import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.fulfillment.admin.access import CHANGE
from apps.fulfillment.admin.blocks import Block, blocks_of
from apps.fulfillment.admin.finding import row_or_404
from apps.fulfillment.admin.forms import NO_UNITS, unit_fields, unit_name
from apps.fulfillment.domain import carriers, fulfilling, tracking
from apps.fulfillment.domain.fulfilling import PARTS, Part
from apps.fulfillment.domain.units import LINES
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.inventory.models import Location
from apps.orders.models import Order
from apps.panel.access import require
from apps.panel.screens.pages import ScreenPages

_WHERE = re.compile(rf"{PARTS}\.(\d+)\.{LINES}\.(\d+)\.\w+")


class TrackingForm(forms.Form):
    """By which numbers parcels are followed."""

    numbers = forms.CharField(
        label=gettext_lazy("Tracking numbers"),
        required=False,
        help_text=gettext_lazy("One on each line, or separated by commas. The carrier is recognised by the number."),
        widget=forms.Textarea(attrs={"rows": 2, "data-tracking": "", "spellcheck": "false", "autocomplete": "off"}),
    )
    company = forms.CharField(
        label=gettext_lazy("Carrier"),
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"list": "carriers", "data-carrier": "", "autocomplete": "off"}),
    )
    urls = forms.CharField(
        label=gettext_lazy("Tracking addresses"),
        required=False,
        help_text=gettext_lazy("One on each line. Left empty, they follow from a carrier that is known."),
        widget=forms.Textarea(attrs={"rows": 2, "data-addresses": "", "spellcheck": "false", "autocomplete": "off"}),
    )

    def clean_numbers(self) -> list[str]:
        """The numbers one by one."""
        return _checked(
            re.split(r"[\n,;]", self.cleaned_data["numbers"]), _("A number has at most {count} characters.")
        )

    def clean_urls(self) -> list[str]:
        """The addresses one by one; browsers are led there."""
        urls = _checked(self.cleaned_data["urls"].split(), _("An address has at most {count} characters."))
        if not all(map(web_address, urls)):
            raise ValidationError(_("An address begins with https://."))
        return urls

    @property
    def tracking(self) -> tracking.Tracking:
        """What is said, completed by what the numbers tell.

        Raises:
            TrackingRefused: There are too many.
        """
        return tracking.completed({name: self.cleaned_data[name] for name in ("numbers", "urls", "company")})


def web_address(url: str) -> str:
    """The address, if browsers may be led there; apps may have said anything."""
    return url if re.match(r"https?://[^/\s]+", url, re.IGNORECASE) else ""


def _checked(given: Sequence[str], too_long: str) -> list[str]:
    found = [text.strip() for text in given if text.strip()]
    if any(len(text) > tracking.LONGEST for text in found):
        raise ValidationError(too_long.format(count=tracking.LONGEST))
    if len(found) > tracking.MAX_NUMBERS:
        raise ValidationError(_("There can be at most {count}.").format(count=tracking.MAX_NUMBERS))
    return found


class SendForm(TrackingForm):
    """What one location sends of an order now.

    Attributes:
        blocks: The fulfillment orders there of which units can be sent.
    """

    notify = forms.BooleanField(label=gettext_lazy("Tell the customer by e-mail"), required=False)
    message = forms.CharField(
        label=gettext_lazy("Note, for those who deal with it later"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, order: Order, location: Location, blocks: Sequence[Block], data: Any = None) -> None:
        """A form for the fulfillment orders of one location."""
        super().__init__(data, auto_id=f"at-{location.pk}-%s", initial={"notify": bool(order.email)})
        self.location, self.blocks = location, blocks
        for block in blocks:
            self.fields |= unit_fields(self.lines(block))
        if not order.email:
            self.fields["notify"].disabled = True
            self.fields["notify"].help_text = _("The order has no e-mail address.")

    @staticmethod
    def lines(block: Block) -> list[FulfillmentOrderLine]:
        """Those of which units are left."""
        return [line for line in block.lines if line.fulfillable_quantity]

    def clean(self) -> dict[str, Any]:
        """Some units are sent."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and not any(given for _block, given in self.given):
            self.add_error(None, NO_UNITS)
        return cleaned

    @property
    def given(self) -> list[tuple[Block, list[Given]]]:
        """The units of each fulfillment order."""
        return [
            (
                block,
                [
                    {"id": line.pk, "quantity": count}
                    for line in self.lines(block)
                    if (count := self.cleaned_data.get(unit_name(line)))
                ],
            )
            for block in self.blocks
        ]

    @property
    def tables(self) -> list[tuple[Block, list[tuple[FulfillmentOrderLine, forms.BoundField]]]]:
        """The lines with their fields, by fulfillment order."""
        return [(block, [(line, self[unit_name(line)]) for line in self.lines(block)]) for block in self.blocks]

    def refuse(self, refusal: DomainError) -> None:
        """Say beside the line which units are not there, and all else above the form."""
        parts = [given for _block, given in self.given if given]
        for name, texts in refusal.errors.items():
            field, where = None, _WHERE.fullmatch(name)
            if where:
                field = f"units-{parts[int(where[1])][int(where[2])]['id']}"
            elif name == "tracking_info":
                field = "numbers"
            for text in texts:
                self.add_error(
                    field,
                    _(text)
                    if field or name == "base"
                    else _("The fulfillment orders {refusal}.").format(refusal=_(text)),
                )


class Sending(ScreenPages[FulfillmentOrder]):
    """The screen that sends, for the screen of fulfillment orders."""

    def sending_urls(self) -> list[URLPattern]:
        """The screen, and what it asks while somebody types."""
        return [
            self.action_url("orders/<path:order_id>/fulfil/", self.fulfil_view, "fulfil", keyed=True),
            self.action_url("carrier/", self.carrier_view, "carrier"),
        ]

    def fulfil_view(self, request: HttpRequest, order_id: str) -> HttpResponse:
        """Show what can be sent, a form for each location; send what one of them says."""
        require(request, CHANGE)
        order = row_or_404(Order.rows(), order_id)
        chosen = request.POST.get("from") or request.GET.get("location", "")
        found = self._forms(order, chosen, request.POST if request.method == "POST" else None)
        for form in found:
            if form.is_bound and form.is_valid() and self._send(request, order, form):
                return HttpResponseRedirect(_back(order))
        if request.method == "POST" and not any(form.is_bound for form in found):
            self.message_user(request, _("Nothing of this can be sent from there any more."), messages.ERROR)
        return self.page(
            request,
            "panel/fulfillment/fulfil.html",
            _("Fulfil {order}").format(order=order),
            order=order,
            forms=sorted(found, key=lambda form: str(form.location.pk) != chosen),
            carriers=[carrier.name for carrier in carriers.CARRIERS],
            back=_back(order),
            waiting=[block for block in blocks_of(order) if block.row.is_unfinished and not block.sendable],
        )

    def _forms(self, order: Order, chosen: str, data: Any) -> list[SendForm]:
        by_location: dict[int, list[Block]] = {}
        for block in blocks_of(order):
            if block.sendable:
                by_location.setdefault(block.row.assigned_location_id, []).append(block)
        return [
            SendForm(order, blocks[0].row.assigned_location, blocks, data if str(pk) == chosen else None)
            for pk, blocks in by_location.items()
        ]

    def _send(self, request: HttpRequest, order: Order, form: SendForm) -> bool:
        """Send; returns whether it was not refused."""
        parts = [Part(block.row, given) for block, given in form.given if given]
        try:
            with transaction.atomic():
                made = fulfilling.create_fulfillment(
                    parts,
                    tracking=form.tracking,
                    notify=form.cleaned_data["notify"],
                    message=form.cleaned_data["message"],
                    **self.by(request),
                )
        except DomainError as refusal:
            form.refuse(refusal)
            return False
        units = sum(int(line["quantity"]) for part in parts for line in part.lines or ())
        said = ngettext("{name}: {count} unit sent from {place}.", "{name}: {count} units sent from {place}.", units)
        said = said.format(name=made, count=units, place=made.location)
        told = _("The customer is told by e-mail.") if form.cleaned_data["notify"] else ""
        self.message_user(request, f"{said} {told}".strip(), messages.SUCCESS)
        return True

    def carrier_view(self, request: HttpRequest) -> HttpResponse:
        """The carrier of a number, and where it is followed; for the screen, while somebody types."""
        require(request, CHANGE)
        number = request.GET.get("number", "").strip()[: tracking.LONGEST]
        carrier = carriers.recognise(number)
        return JsonResponse({"company": carrier.name, "url": carrier.url(number)} if carrier else {})


def _back(order: Order) -> str:
    return f"{reverse('admin:orders_order_change', args=(order.pk,))}#fulfillment"
