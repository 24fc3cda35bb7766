from collections.abc import Mapping

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.menu import MenuItem
from apps.core.admin.staff_request import EventKwargs
from apps.core.admin.theme import display
from apps.core.types import Attrs
from apps.inventory.admin.documents import (
    CreatedFilter,
    NoteForm,
    StockDocumentAdmin,
    describe_new_items,
    format_date,
    get_default_location,
    offer_locations,
)
from apps.inventory.admin.movements import LocationFilter
from apps.inventory.domain import receipts
from apps.inventory.domain.hooks import get_item_names
from apps.inventory.models import StockReceipt, StockReceiptLine

State = StockReceipt.State
COLORS = {State.DRAFT.value: "warning", State.RECEIVED.value: "success", State.CANCELED.value: "default"}


class ReceiptForm(NoteForm):
    location = forms.ChoiceField(label=gettext_lazy("Location"))
    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"), choices=[(reason.value, reason.label) for reason in StockReceipt.REASONS]
    )
    field_order = ("location", "reason", "note")

    def __init__(self, data: QueryDict | None = None, initial: dict[str, object] | None = None) -> None:
        super().__init__(data, initial)
        offer_locations(self, "location")


@admin.register(StockReceipt)
class StockReceiptAdmin(StockDocumentAdmin[StockReceipt]):
    menu = MenuItem("Products", "input", 53, gettext_lazy("Stock receipts"))
    search_terms = pgettext_lazy("search", "receive stock, delivery, goods in, incoming, supplier, scan, barcode")
    intro = gettext_lazy("Items that arrived at a location. Receiving a stock receipt adds its quantities.")
    empty_text = gettext_lazy("No stock receipts yet. Add one when items arrive.")
    list_display = ("receipt", "created_at", "location", "status", "items", "units", "why", "note")
    mobile_hide_labels = ("created_at", "location", "why", "note")
    list_filter = (CreatedFilter, LocationFilter, "state")
    list_select_related = ("location",)
    line_model, line_parent = StockReceiptLine, "receipt"
    steps = ("save", "receive")
    main_label = gettext_lazy("Receive stock")
    cancel_label = gettext_lazy("Cancel this receipt")
    document_template = "panel/inventory/receipt.html"

    @display(description=gettext_lazy("Number"))
    def receipt(self, receipt: StockReceipt) -> str:
        return str(receipt)

    @display(description=gettext_lazy("Status"), label=COLORS)
    def status(self, receipt: StockReceipt) -> tuple[str, str]:
        return receipt.state, receipt.get_state_display()

    @display(description=gettext_lazy("Reason"))
    def why(self, receipt: StockReceipt) -> str:
        return receipt.get_reason_display()

    def is_editable(self, document: StockReceipt) -> bool:
        return document.state == State.DRAFT

    def build_form(self, document: StockReceipt | None, data: QueryDict | None = None) -> ReceiptForm:
        if document is None:
            return ReceiptForm(data, {"location": get_default_location(), "reason": receipts.DEFAULT_REASON})
        values = {"location": document.location_id, "reason": document.reason, "note": document.note}
        return ReceiptForm(data, values)

    def save_document(
        self,
        request: HttpRequest,
        document: StockReceipt | None,
        form: forms.Form,
        quantities: Mapping[int, int],
        step: str,
    ) -> str:
        data, by = form.cleaned_data, self.event_kwargs(request)
        values: Attrs = {"quantities": quantities, "location_id": int(data["location"])}
        values |= {"reason": data["reason"], "note": data["note"]}
        if document is None:
            receipt = receipts.create_receipt(**values, **by)
        else:
            receipt = receipts.update_receipt(document, seen_version=data["seen_version"], **values, **by)
        if step == "receive":
            self._receive(request, receipt, by)
        else:
            self.message_user(request, _("{name} saved as a draft.").format(name=receipt), messages.SUCCESS)
        return self.url("change", receipt.pk)

    def _receive(self, request: HttpRequest, receipt: StockReceipt, by: EventKwargs) -> None:
        new_items = receipts.receive_receipt(receipt, **by)
        text = _("{name} received. The stock at {location} is updated.").format(name=receipt, location=receipt.location)
        self.message_user(request, text, messages.SUCCESS)
        names = get_item_names(new_items)
        if connected := describe_new_items([names[item.pk] for item in new_items], receipt.location):
            self.message_user(request, connected, messages.WARNING)

    def cancel_document(self, document: StockReceipt, by: EventKwargs) -> str:
        receipts.cancel_receipt(document, **by)
        return self.get_canceled_text(document)

    def get_actors(self, document: StockReceipt) -> list[str]:
        return [document.actor, *filter(None, [document.closed_by])]

    def get_facts(self, document: StockReceipt, names: Mapping[str, str]) -> list[tuple[str, str]]:
        facts = [
            (_("Status"), document.get_state_display()),
            (_("Location"), document.location.name),
            (_("Reason"), document.get_reason_display()),
            (_("Note"), document.note or "–"),
            (_("Created"), f"{format_date(document.created_at)}, {names[document.actor]}"),
        ]
        if document.closed_at:
            closed = f"{format_date(document.closed_at)}, {names[document.closed_by]}"
            facts.append((document.get_state_display(), closed))
        return facts
