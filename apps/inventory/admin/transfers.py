from collections.abc import Mapping

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import EventKwargs
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.inventory.admin.document_lines import LinesInput
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
from apps.inventory.domain import transfers
from apps.inventory.domain.documents import DocumentChanged, LinesRefused
from apps.inventory.domain.hooks import get_item_names
from apps.inventory.models import StockTransfer, StockTransferLine

State = StockTransfer.State
CHANGE = "inventory.change_stocktransfer"
COLORS = {
    State.DRAFT.value: "warning",
    State.IN_TRANSIT.value: "info",
    State.CLOSED.value: "success",
    State.CANCELED.value: "default",
}


class TransferForm(NoteForm):
    origin = forms.ChoiceField(label=gettext_lazy("From"))
    destination = forms.ChoiceField(label=gettext_lazy("To"))
    field_order = ("origin", "destination", "note")

    def __init__(self, data: QueryDict | None = None, initial: dict[str, object] | None = None) -> None:
        super().__init__(data, initial)
        offer_locations(self, "origin", "destination")


class EitherLocationFilter(LocationFilter):
    parameter_name = "place"

    def queryset(self, request: HttpRequest, queryset: QuerySet[StockTransfer]) -> QuerySet[StockTransfer]:  # type: ignore[override]
        value = self.value()
        if not value or not value.isdecimal() or len(value) > 18:
            return queryset
        return queryset.filter(Q(origin_id=value) | Q(destination_id=value))


@admin.register(StockTransfer)
class StockTransferAdmin(StockDocumentAdmin[StockTransfer]):
    menu = MenuItem("Products", "moving", 54, gettext_lazy("Stock transfers"))
    search_terms = pgettext_lazy("search", "move stock, in transit, incoming, between locations, scan, barcode")
    intro = gettext_lazy("Items that move between your locations. Items in transit are available at neither location.")
    empty_text = gettext_lazy("No stock transfers yet. Add one to move items to another location.")
    list_display = ("transfer", "created_at", "origin", "destination", "status", "items", "units", "arrived", "note")
    mobile_hide_labels = ("created_at", "note")
    list_filter = (CreatedFilter, EitherLocationFilter, "state")
    list_select_related = ("origin", "destination")
    line_model, line_parent = StockTransferLine, "transfer"
    steps = ("save", "send")
    main_label = gettext_lazy("Send items")
    cancel_label = gettext_lazy("Cancel this transfer")
    document_template = "panel/inventory/transfer.html"
    summed = ("quantity", "received")

    @display(description=gettext_lazy("Number"))
    def transfer(self, transfer: StockTransfer) -> str:
        return str(transfer)

    @display(description=gettext_lazy("Status"), label=COLORS)
    def status(self, transfer: StockTransfer) -> tuple[str, str]:
        return transfer.state, transfer.get_state_display()

    def is_editable(self, document: StockTransfer) -> bool:
        return document.state == State.DRAFT

    def build_form(self, document: StockTransfer | None, data: QueryDict | None = None) -> TransferForm:
        if document is None:
            return TransferForm(data, {"origin": get_default_location()})
        values = {"origin": document.origin_id, "destination": document.destination_id, "note": document.note}
        return TransferForm(data, values)

    def save_document(
        self,
        request: HttpRequest,
        document: StockTransfer | None,
        form: forms.Form,
        quantities: Mapping[int, int],
        step: str,
    ) -> str:
        data, by = form.cleaned_data, self.event_kwargs(request)
        places = {name: int(data[name.removesuffix("_id")]) for name in ("origin_id", "destination_id")}
        if document is None:
            transfer = transfers.create_transfer(quantities=quantities, note=data["note"], **places, **by)
        else:
            transfer = transfers.update_transfer(
                document,
                quantities=quantities,
                note=data["note"],
                seen_version=data["seen_version"],
                **places,
                **by,
            )
        text = _("{name} saved as a draft.")
        if step == "send":
            transfers.send_transfer(transfer, **by)
            text = _("{name} sent. The items are in transit to {location}.")
        message = text.format(name=transfer, location=transfer.destination)
        self.message_user(request, message, messages.SUCCESS)
        return self.url("change", transfer.pk)

    @row_view("receive/", CHANGE, post_only=True)
    def receive_view(self, request: HttpRequest, transfer: StockTransfer) -> HttpResponse:
        """Add the entered quantities to the destination. After a code or an error, show the input again."""
        lines = LinesInput.from_data(request.POST, is_counting=True)
        # A code that was typed but not entered is entered first, because it would be missing from what is saved.
        if request.POST.get("step") == "find" or "add" in request.POST or request.POST.get("code", "").strip():
            lines.run_step(request.POST)
            return self.show(request, transfer, entered=lines)
        seen = request.POST.get("seen_version", "")
        try:
            quantities = lines.parse()
            new_items = transfers.receive_transfer(
                transfer,
                quantities,
                seen_version=int(seen) if seen.isdecimal() and len(seen) <= 19 else -1,
                **self.event_kwargs(request),
            )
        except (LinesRefused, DocumentChanged) as error:
            # The transaction was rolled back after the instance had been changed.
            transfer.refresh_from_db()
            lines.add_error(error)
            self.message_user(request, format_errors(error), messages.ERROR)
            return self.show(request, transfer, entered=lines)
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
            return HttpResponseRedirect(self.url("change", transfer.pk))
        text = _("{name} closed.").format(name=self.get_title(transfer))
        if number := sum(quantities.values()):
            text = _("{number} received. The stock at {location} is updated.")
            text = text.format(number=number, location=transfer.destination)
        self.message_user(request, text, messages.SUCCESS)
        names = get_item_names(new_items)
        if connected := describe_new_items([names[item.pk] for item in new_items], transfer.destination):
            self.message_user(request, connected, messages.WARNING)
        return HttpResponseRedirect(self.url("change", transfer.pk))

    def show(self, request: HttpRequest, document: StockTransfer, **context: object) -> HttpResponse:
        """Show the transfer. ``entered`` has the input of a form that was refused."""
        entered = context.pop("entered", None)
        assert entered is None or isinstance(entered, LinesInput)
        lines = self.get_lines(document)
        texts = entered.quantities if entered else {}
        errors = entered.errors if entered else {}
        rows = [
            {
                "line": line,
                "quantity": texts.get(line.item_id, line.missing),
                "error": errors.get(line.item_id, ""),
            }
            for line in lines
        ]
        is_moving = document.state == State.IN_TRANSIT and has_permission(request, CHANGE)
        return super().show(
            request,
            document,
            rows=rows,
            scanned=entered or LinesInput(),
            lookup=self.url("lookup"),
            is_moving=is_moving,
            is_awaiting=transfers.is_awaiting(lines),
            receive=self.url("receive", document.pk),
            cancel=self.url("cancel", document.pk),
            **context,
        )

    def cancel_document(self, document: StockTransfer, by: EventKwargs) -> str:
        returned = transfers.cancel_transfer(document, **by)
        if not returned:
            return super().get_canceled_text(document)
        text = _("{name} canceled. {number} returned to {location}.")
        return text.format(name=self.get_title(document), number=returned, location=document.origin)

    def get_actors(self, document: StockTransfer) -> list[str]:
        return [document.actor, *filter(None, [document.sent_by, document.closed_by])]

    def get_facts(self, document: StockTransfer, names: Mapping[str, str]) -> list[tuple[str, str]]:
        facts = [
            (_("Status"), document.get_state_display()),
            (_("From"), document.origin.name),
            (_("To"), document.destination.name),
            (_("Note"), document.note or "–"),
            (_("Created"), f"{format_date(document.created_at)}, {names[document.actor]}"),
        ]
        if document.sent_at:
            facts.append((_("Sent"), f"{format_date(document.sent_at)}, {names[document.sent_by]}"))
        if document.closed_at:
            closed = f"{format_date(document.closed_at)}, {names[document.closed_by]}"
            facts.append((document.get_state_display(), closed))
        return facts
