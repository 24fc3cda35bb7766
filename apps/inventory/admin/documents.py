"""The base class of the panel pages for stock documents: the list, the form of a draft, the document and the print."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.views.main import ChangeList
from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.error_display import add_domain_errors, format_errors
from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.lists.search import is_palette_search
from apps.core.admin.lists.typed_filters import DaysFilter
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context, EventKwargs
from apps.core.admin.theme import attribute_column
from apps.core.db.lookups import in_materialized
from apps.core.exceptions import DomainError
from apps.core.i18n.formats import lowercase_label
from apps.core.tenancy.actor_names import get_actor_names
from apps.inventory.admin.document_lines import LinesInput, render_found_items
from apps.inventory.domain import stock
from apps.inventory.domain.documents import DocumentChanged, LinesRefused
from apps.inventory.domain.hooks import get_item_names, get_search_conditions
from apps.inventory.models import (
    MAX_LINES,
    MAX_NOTE_LENGTH,
    MAX_QUANTITY,
    InventoryItem,
    Location,
    StockDocument,
    StockDocumentLine,
)

D = TypeVar("D", bound=StockDocument)
# A search by item name only finds the documents of up to this many items.
MAX_SEARCHED_ITEMS = 1_000
MAX_NAMED = 5
_INPUT = {"class": "bo-input"}


class CreatedFilter(DaysFilter):
    title = gettext_lazy("created")
    parameter_name = "created"
    field = "created_at"


class NoteForm(forms.Form):
    """The base form of a stock document."""

    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=MAX_NOTE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("For example the supplier and the number of the delivery note."),
    )
    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, initial: Context | None = None) -> None:
        super().__init__(data, initial=initial)
        for form_field in self.fields.values():
            if not form_field.widget.is_hidden:
                form_field.widget.attrs |= _INPUT


def offer_locations(form: forms.Form, *names: str) -> None:
    """Fill these fields with the active locations of the shop itself.

    A field without a value, or with a location that is not active any more, begins with an empty choice. Otherwise,
    browsers would preselect the first location.
    """
    rows = Location.objects.filter(active=True, legacy=False).order_by("priority", "name", "id")
    choices = [(str(row.pk), row.name) for row in rows]
    for name in names:
        empty = [] if str(form[name].value()) in dict(choices) else [("", _("Choose a location"))]
        cast("forms.ChoiceField", form.fields[name]).choices = [*empty, *choices]


def get_default_location() -> int | None:
    try:
        return stock.get_primary_location().pk
    except Location.DoesNotExist:
        return None


def describe_new_items(names: Sequence[str], location: Location) -> str:
    """Return a sentence about the items that were connected to a location, or nothing."""
    if not names:
        return ""
    shown = ", ".join(names[:MAX_NAMED])
    if len(names) > MAX_NAMED:
        shown = _("{names} and {number} more").format(names=shown, number=len(names) - MAX_NAMED)
    text = ngettext(
        "{names} was not stocked at {location} before and is now stocked there.",
        "{names} were not stocked at {location} before and are now stocked there.",
        len(names),
    )
    return text.format(names=shown, location=location.name)


class StockDocumentAdmin(ShopOwnedAdmin[D]):
    """The list and the pages of one kind of stock document."""

    line_model: type[StockDocumentLine]
    line_parent: str
    # The buttons that save the form. The first one only saves the draft.
    steps: tuple[str, ...] = ("save",)
    # The label of the last of these buttons.
    main_label: StrOrPromise
    cancel_label: StrOrPromise
    document_template: str
    summed: tuple[str, ...] = ("quantity",)
    palette_order = 80
    ordering = ("-id",)
    sortable_by = ()
    actions = None
    list_filter_submit = True
    search_fields = ("note__icontains",)
    search_help_text = gettext_lazy("Number, SKU, barcode, product or note")

    items = attribute_column("line_count", gettext_lazy("Items"))
    units = attribute_column("quantity_sum", gettext_lazy("Quantity"))
    arrived = attribute_column("received_sum", gettext_lazy("Received so far"))

    def has_delete_permission(self, request: HttpRequest, obj: D | None = None) -> bool:
        """Return False, because a document explains inventory changes. Staff can cancel a draft."""
        return False

    def get_search_note(self, term: str) -> str:
        return ""

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[D], term: str, most: int
    ) -> Sequence[QuerySet[D]]:
        number = term.upper().removeprefix("#").removeprefix(self.model.PREFIX)
        parts = [queryset.filter(number=int(number))] if number.isdecimal() and len(number) <= 9 else []
        lines = self.line_model.rows().order_by("-pk")
        conditions = [] if is_palette_search(request) else get_search_conditions(term, most)
        for condition in conditions:
            items = InventoryItem.rows().filter(condition).order_by("-pk").values("pk")[:MAX_SEARCHED_ITEMS]
            found = lines.filter(in_materialized(items, "item")).values(self.line_parent)[:most]
            parts.append(queryset.filter(in_materialized(found)))
        by_sku = lines.filter(sku__istartswith=term).values(self.line_parent)[:most]
        return [*parts, queryset.filter(in_materialized(by_sku))]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        rows: list[Any] = list(changelist.result_list)
        changelist.result_list = rows
        sums = self.line_model.rows().filter(**{f"{self.line_parent}__in": rows}).order_by().values(self.line_parent)
        units = {f"{name}_sum": Sum(name) for name in self.summed}
        counts = {row[self.line_parent]: row for row in sums.annotate(line_count=Count("pk"), **units)}
        for row in rows:
            for name in ("line_count", *units):
                setattr(row, name, counts.get(row.pk, {}).get(name, 0))
        return changelist

    # --- the form of a draft ---

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, self.get_permission("add"))
        return self._edit(request, None)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """Show the form of a draft to staff who may change it. Otherwise, show the document."""
        view, change = self.get_permission("view"), self.get_permission("change")
        require_permission(request, view, change)
        document = self.get_row_or_404(request, object_id)
        if request.method == "POST":
            require_permission(request, change)
        if self.is_editable(document) and has_permission(request, change):
            return self._edit(request, document)
        if request.method != "POST":
            return self.show(request, document)
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._discard(request, document)))

    def _discard(self, request: HttpRequest, document: D) -> HttpResponse:
        """Tell the user that a form of a draft was not saved, because the document is not a draft any more."""
        text = _("Your input was not saved, because {name} is no longer a draft. Status: {status}.")
        status = lowercase_label(document.get_state_display())  # type: ignore[attr-defined]
        self.message_user(request, text.format(name=document, status=status), messages.WARNING)
        return self.show(request, document)

    def get_permission(self, action: str) -> str:
        return f"{self.opts.app_label}.{action}_{self.opts.model_name}"

    def _edit(self, request: HttpRequest, document: D | None) -> HttpResponse:
        if request.method != "POST":
            lines = LinesInput.from_lines(self.get_lines(document)) if document else LinesInput()
            return self._render_form(request, document, self.build_form(document), lines)
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._submit(request, document)))

    def _submit(self, request: HttpRequest, document: D | None) -> HttpResponse:
        form, lines = self.build_form(document, request.POST), LinesInput.from_data(request.POST)
        step, seen = request.POST.get("step", ""), request.POST.get("seen_version", "")
        is_saving = step in self.steps and "add" not in request.POST and "remove" not in request.POST
        # A code that was typed but not entered is entered first, because it would be missing from what is saved.
        if not is_saving or request.POST.get("code", "").strip():
            lines.run_step(request.POST)
            if is_saving:
                text = _("Nothing was saved yet, because the field for codes had text. Check the list, then try again.")
                self.message_user(request, text, messages.WARNING)
            return self._render_form(request, document, form, lines, seen=seen)
        if form.is_valid():
            try:
                with transaction.atomic():
                    return HttpResponseRedirect(self.save_document(request, document, form, lines.parse(), step))
            except DomainError as error:
                lines.add_error(error)
                add_domain_errors(form, error)
                if document and isinstance(error, DocumentChanged):
                    seen = str(document.version)
        return self._render_form(request, document, form, lines, seen=seen, is_saving=True)

    def _render_form(
        self,
        request: HttpRequest,
        document: D | None,
        form: forms.Form,
        lines: LinesInput,
        *,
        seen: str = "",
        is_saving: bool = False,
    ) -> HttpResponse:
        new_title = _("Add %(verbose_name)s") % {"verbose_name": self.opts.verbose_name}
        return self.page(
            request,
            "panel/inventory/document_form.html",
            self.get_title(document) if document else new_title,
            original=document,
            seen=seen or (document.version if document else ""),
            form=form,
            lines=lines,
            deleted=self._get_deleted(document, lines),
            is_saving=is_saving,
            most=MAX_LINES,
            most_units=MAX_QUANTITY,
            lookup=self.url("lookup"),
            main_step=self.steps[-1],
            main_label=self.main_label,
            cancel_label=self.cancel_label,
            cancel=self.url("cancel", document.pk) if document else "",
            back=self.url("changelist"),
        )

    def _get_deleted(self, document: D | None, lines: LinesInput) -> list[str]:
        """Return the names of the deleted items in the stored lines and in the input."""
        stored = [line.name for line in self.get_lines(document) if line.item_id is None] if document else []
        return list(dict.fromkeys([*stored, *lines.get_deleted_names()]))

    def build_form(self, document: D | None, data: QueryDict | None = None) -> forms.Form:
        raise NotImplementedError

    def save_document(
        self, request: HttpRequest, document: D | None, form: forms.Form, quantities: Mapping[int, int], step: str
    ) -> str:
        """Save a valid form, run the step, and return the URL of the next page."""
        raise NotImplementedError

    def is_editable(self, document: D) -> bool:
        raise NotImplementedError

    def cancel_document(self, document: D, by: EventKwargs) -> str:
        """Cancel the document, and return the message for the user."""
        raise NotImplementedError

    def get_canceled_text(self, document: D) -> str:
        return _("{name} canceled.").format(name=self.get_title(document))

    @extra_view("lookup/")
    def lookup_view(self, request: HttpRequest) -> HttpResponse:
        require_permission(request, self.get_permission("add"), self.get_permission("change"))
        return render_found_items(request)

    # --- a document ---

    def get_title(self, document: D) -> str:
        return f"{capfirst(str(self.opts.verbose_name))} {document}"

    def get_lines(self, document: D) -> Sequence[Any]:
        return list(self.line_model.rows().filter(**{self.line_parent: document}).order_by("pk"))

    def get_document_context(self, request: HttpRequest, document: D) -> Context:
        lines = self.get_lines(document)
        return {
            "original": document,
            "lines": lines,
            "units": sum(line.quantity for line in lines),
            "facts": self.get_facts(document, get_actor_names(self.get_actors(document))),
        }

    def get_actors(self, document: D) -> list[str]:
        return [document.actor]

    def get_facts(self, document: D, names: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return the labels and values that describe the document."""
        raise NotImplementedError

    def show(self, request: HttpRequest, document: D, **context: object) -> HttpResponse:
        return self.page(
            request,
            self.document_template,
            self.get_title(document),
            **self.get_document_context(request, document),
            print=self.url("print", document.pk),
            back=self.url("changelist"),
            history=f"{reverse('admin:inventory_stockmovement_changelist')}?reference__iexact={document}",
            **context,
        )

    @row_view("print/")
    def print_view(self, request: HttpRequest, document: D) -> HttpResponse:
        require_permission(request, self.get_permission("view"), self.get_permission("change"))
        context = {
            "title": self.get_title(document),
            "shop": self.shop(request),
            "back_url": self.url("change", document.pk),
            **self.get_document_context(request, document),
        }
        return TemplateResponse(request, "panel/inventory/document_print.html", context)

    @row_view("cancel/")
    def cancel_view(self, request: HttpRequest, document: D) -> HttpResponse:
        require_permission(request, self.get_permission("change"))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            with transaction.atomic():
                text = self.cancel_document(document, self.event_kwargs(request))
        except LinesRefused as error:
            text = _("{name} was not canceled. {reasons}")
            text = text.format(name=self.get_title(document), reasons=_describe_lines(error))
            self.message_user(request, text, messages.ERROR)
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", document.pk))


def _describe_lines(error: LinesRefused) -> str:
    """Return the names of refused items with the reasons, for pages without marked lines."""
    shown = dict(list(error.lines.items())[:MAX_NAMED])
    names = get_item_names(list(InventoryItem.objects.filter(pk__in=list(shown))))
    texts = [f"{names.get(pk, f'#{pk}')}: {reason}" for pk, reason in shown.items()]
    if others := len(error.lines) - len(shown):
        text = ngettext("{number} more item has an error.", "{number} more items have an error.", others)
        texts.append(text.format(number=others))
    return " ".join(texts)


def format_date(value: datetime | None) -> str:
    return date_format(timezone.localtime(value), "SHORT_DATETIME_FORMAT") if value else ""
