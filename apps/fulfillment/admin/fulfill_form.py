"""The page for fulfilling an order, with a form per location for quantities, tracking, and notification."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.core.admin.lists.row_ids import is_possible_id
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import translate
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.admin.forms import (
    NO_ITEMS_SELECTED,
    QuantityRow,
    create_quantity_fields,
    get_quantity_field_name,
    get_quantity_rows,
)
from apps.fulfillment.admin.fulfillment_order_cards import FulfillmentOrderCard, get_order_cards
from apps.fulfillment.admin.permissions import CHANGE
from apps.fulfillment.domain import carriers, fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders.quantities import LINES
from apps.fulfillment.domain.fulfillments import PARTS, FulfillmentPart
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.models import Location
from apps.orders.admin.page_context import get_summary_context
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import Order
from apps.shops.domain.address_formats import format_address

M = TypeVar("M", bound=Model)
_LINE_ERROR = re.compile(rf"{PARTS}\.(\d+)\.{LINES}\.(\d+)\.\w+")


def get_row_or_404(rows: QuerySet[M], object_id: str) -> M:
    row = rows.filter(pk=int(object_id)).first() if is_possible_id(object_id) else None
    if row is None:
        raise Http404(f"No {rows.model._meta.verbose_name} {object_id}")
    return row


class TrackingForm(forms.Form):
    numbers = forms.CharField(
        label=gettext_lazy("Tracking numbers"),
        required=False,
        help_text=gettext_lazy("One per line, or separated by commas. The carrier is detected from the number."),
        widget=forms.Textarea(attrs={"rows": 2, "data-tracking": "", "spellcheck": "false", "autocomplete": "off"}),
    )
    company = forms.CharField(
        label=gettext_lazy("Carrier"),
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"list": "carriers", "data-carrier": "", "autocomplete": "off"}),
    )
    urls = forms.CharField(
        label=gettext_lazy("Tracking URLs"),
        required=False,
        help_text=gettext_lazy("One per line. Leave blank to use the carrier's tracking page."),
        widget=forms.Textarea(attrs={"rows": 2, "data-addresses": "", "spellcheck": "false", "autocomplete": "off"}),
    )

    def clean_numbers(self) -> list[str]:
        return _clean_list(
            re.split(r"[\n,;]", self.cleaned_data["numbers"]), _("A tracking number can have up to {count} characters.")
        )

    def clean_urls(self) -> list[str]:
        """Return the tracking URLs as a list. Only http(s) is allowed, because the pages link to these URLs."""
        urls = _clean_list(self.cleaned_data["urls"].split(), _("A URL can have up to {count} characters."))
        if not all(map(tracking.get_safe_url, urls)):
            raise ValidationError(_("Enter a URL that starts with https://."))
        return urls

    @property
    def tracking(self) -> tracking.Tracking:
        return tracking.complete_tracking({name: self.cleaned_data[name] for name in ("numbers", "urls", "company")})


def _clean_list(texts: Sequence[str], too_long: str) -> list[str]:
    stripped = [text.strip() for text in texts if text.strip()]
    if any(len(text) > tracking.MAX_LENGTH for text in stripped):
        raise ValidationError(too_long.format(count=tracking.MAX_LENGTH))
    if len(stripped) > tracking.MAX_NUMBERS:
        raise ValidationError(_("You entered too many. Enter at most {count}.").format(count=tracking.MAX_NUMBERS))
    return stripped


class FulfillForm(TrackingForm):
    notify = forms.BooleanField(label=gettext_lazy("Notify the customer by email"), required=False)
    message = forms.CharField(
        label=gettext_lazy("Note for staff"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(
        self, order: Order, location: Location, blocks: Sequence[FulfillmentOrderCard], data: Any = None
    ) -> None:
        super().__init__(data, auto_id=f"at-{location.pk}-%s", initial={"notify": bool(order.email)})
        self.location, self.blocks = location, blocks
        self.thumbnails: Mapping[int, str] = {}
        for block in blocks:
            self.fields |= create_quantity_fields(self.get_fulfillable_lines(block))
        if not order.email:
            self.fields["notify"].disabled = True
            self.fields["notify"].help_text = _("The order has no email address.")

    @staticmethod
    def get_fulfillable_lines(block: FulfillmentOrderCard) -> list[FulfillmentOrderLine]:
        return [line for line in block.lines if line.fulfillable_quantity]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and not any(lines for _block, lines in self.selected_lines):
            self.add_error(None, NO_ITEMS_SELECTED)
        return cleaned

    @property
    def selected_lines(self) -> list[tuple[FulfillmentOrderCard, list[ReadOnlyAttrs]]]:
        return [
            (
                block,
                [
                    {"id": line.pk, "quantity": count}
                    for line in self.get_fulfillable_lines(block)
                    if (count := self.cleaned_data.get(get_quantity_field_name(line)))
                ],
            )
            for block in self.blocks
        ]

    @property
    def quantity_tables(self) -> list[tuple[FulfillmentOrderCard, list[QuantityRow]]]:
        return [
            (block, get_quantity_rows(self, self.get_fulfillable_lines(block), self.thumbnails))
            for block in self.blocks
        ]

    def add_domain_error(self, error: DomainError) -> None:
        """Show line item errors next to the line, and all other errors above the form."""
        parts = [lines for _block, lines in self.selected_lines if lines]
        for name, texts in error.errors.items():
            field, match = None, _LINE_ERROR.fullmatch(name)
            if match:
                field = f"units-{parts[int(match[1])][int(match[2])]['id']}"
            elif name == "tracking_info":
                field = "numbers"
            for text in texts:
                self.add_error(
                    field,
                    translate(text)
                    if field or name == "base"
                    else _("The fulfillment orders {refusal}.").format(refusal=translate(text)),
                )


class FulfillPages(ExtraViewsAdmin[FulfillmentOrder]):
    @extra_view("orders/<path:order_id>/fulfill/", CHANGE, keyed=True)
    def fulfill_view(self, request: HttpRequest, order_id: str) -> HttpResponse:
        order = get_row_or_404(Order.rows(), order_id)
        location_id = request.POST.get("from") or request.GET.get("location", "")
        forms = self._get_forms(order, location_id, request.POST if request.method == "POST" else None)
        for form in forms:
            if form.is_bound and form.is_valid() and self._create_fulfillment(request, order, form):
                return HttpResponseRedirect(_get_order_url(order))
        if request.method == "POST" and not any(form.is_bound for form in forms):
            self.message_user(request, _("There are no items left to fulfill from this location."), messages.ERROR)
        summary = get_summary_context(get_line_items(order))
        for form in forms:
            form.thumbnails = summary["thumbnails"]
        return self.page(
            request,
            "panel/fulfillment/fulfill.html",
            _("Fulfill {order}").format(order=order),
            order=order,
            forms=sorted(forms, key=lambda form: str(form.location.pk) != location_id),
            address=format_address(order.shipping_address or {}),
            methods=[line.title for line in get_shipping_lines(order) if not line.is_removed],
            **summary,
            carriers=[carrier.name for carrier in carriers.CARRIERS],
            back=_get_order_url(order),
            waiting=[block for block in get_order_cards(order) if block.row.is_unfinished and not block.is_fulfillable],
        )

    def _get_forms(self, order: Order, location_id: str, data: Any) -> list[FulfillForm]:
        by_location: dict[int, list[FulfillmentOrderCard]] = {}
        for block in get_order_cards(order):
            if block.is_fulfillable:
                by_location.setdefault(block.row.assigned_location_id, []).append(block)
        return [
            FulfillForm(order, blocks[0].row.assigned_location, blocks, data if str(pk) == location_id else None)
            for pk, blocks in by_location.items()
        ]

    def _create_fulfillment(self, request: HttpRequest, order: Order, form: FulfillForm) -> bool:
        """Create the fulfillment and return True, or add the errors to the form and return False."""
        parts = [FulfillmentPart(block.row, lines) for block, lines in form.selected_lines if lines]
        try:
            with transaction.atomic():
                fulfillment = fulfillments.create_fulfillment(
                    parts,
                    tracking=form.tracking,
                    notify=form.cleaned_data["notify"],
                    message=form.cleaned_data["message"],
                    **self.event_kwargs(request),
                )
        except DomainError as error:
            form.add_domain_error(error)
            return False
        units = sum(int(line["quantity"]) for part in parts for line in part.lines or ())
        text = ngettext(
            "{name}: {count} item fulfilled from {place}.", "{name}: {count} items fulfilled from {place}.", units
        )
        text = text.format(name=fulfillment, count=units, place=fulfillment.location)
        notified = _("The customer will be notified by email.") if form.cleaned_data["notify"] else ""
        self.message_user(request, f"{text} {notified}".strip(), messages.SUCCESS)
        return True

    @extra_view("carrier/", CHANGE)
    def carrier_view(self, request: HttpRequest) -> HttpResponse:
        """Return the carrier and tracking URL of a number as JSON. The page calls this while staff are typing."""
        number = request.GET.get("number", "").strip()[: tracking.MAX_LENGTH]
        carrier = carriers.recognize_carrier(number)
        return JsonResponse({"company": carrier.name, "url": carrier.get_tracking_url(number)} if carrier else {})


def _get_order_url(order: Order) -> str:
    return f"{reverse('admin:orders_order_change', args=(order.pk,))}#fulfillment"
