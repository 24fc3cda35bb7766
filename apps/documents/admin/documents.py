"""The list of issued documents, their PDF files, and the pages that issue and cancel them."""

from collections.abc import Callable, Sequence

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.documents.domain import issue
from apps.documents.domain.files import MAX_PER_PAGE, write_document_files, write_packing_slip_files, write_return_slip
from apps.documents.domain.pdf.fonts import choose_fonts
from apps.documents.domain.pdf.invoices import iterate_texts
from apps.documents.models import IssuedDocument, Kind
from apps.orders.models import Order
from apps.refunds.models import Refund

VIEW, ISSUE = "documents.view_issueddocument", "documents.add_issueddocument"
VIEW_SLIPS = "fulfillment.view_fulfillmentorder"


def get_order_url(order_id: int) -> str:
    return reverse("admin:orders_order_change", args=[order_id])


def create_pdf_response(content: bytes, name: str, *, is_download: bool = False) -> HttpResponse:
    response = HttpResponse(content, content_type="application/pdf")
    # Prefixes of numbers can have slashes.
    file_name = f"{name}.pdf".replace("/", "-")
    response["Content-Disposition"] = str(content_disposition_header(is_download, file_name))
    add_never_cache_headers(response)
    return response


@admin.register(IssuedDocument)
class IssuedDocumentAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[IssuedDocument]):
    menu = MenuItem("Orders", "receipt_long", 40, gettext_lazy("Invoices"))
    search_terms = pgettext_lazy("search", "invoice, bill, receipt, credit note, cancellation, document")
    intro = gettext_lazy(
        "Issued invoices and credit notes. They never change. To correct an invoice, cancel it and issue a new one."
    )
    empty_text = gettext_lazy("No invoices yet. Issue an invoice on the page of an order.")
    list_display = ("name", "kind_label", "order_name", "total_label", "issued_at")
    list_filter = ("kind",)
    list_select_related = ("order",)
    search_fields = ("name__istartswith", "order__name__istartswith")
    ordering = ("-id",)
    actions = None

    order_name = attribute_column("order", gettext_lazy("order"))

    @display(
        description=gettext_lazy("Kind"), label={"invoice": "info", "credit_note": "default", "cancelled": "danger"}
    )
    def kind_label(self, document: IssuedDocument) -> tuple[str, str]:
        if document.cancelled_at is not None:
            return "cancelled", pgettext("invoice", "Canceled invoice")
        return document.kind, document.get_kind_display()

    @display(description=gettext_lazy("Total"))
    def total_label(self, document: IssuedDocument) -> str:
        return formats.format_money(document.total, document.currency)

    @row_view("change/", VIEW, name="change")
    def order_view(self, request: HttpRequest, document: IssuedDocument) -> HttpResponse:
        """Redirect to the order page, which shows all documents of the order."""
        return HttpResponseRedirect(f"{get_order_url(document.order_id)}#documents")

    @row_view("file/", VIEW)
    def file_view(self, request: HttpRequest, document: IssuedDocument) -> HttpResponse:
        """Return the PDF file to print, or to download with ``?download=1``."""
        content = write_document_files([document.pk])
        return create_pdf_response(content, document.name, is_download="download" in request.GET)

    @extra_view("orders/<int:order_id>/invoice/", ISSUE, name="issue", keyed=True)
    def issue_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        order = self._get_order_or_404(order_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return self._issue(request, order.pk, lambda: issue.issue_invoice(order, **self.event_kwargs(request)))

    @extra_view("refunds/<int:refund_id>/credit-note/", ISSUE, name="credit", keyed=True)
    def credit_view(self, request: HttpRequest, refund_id: int) -> HttpResponse:
        refund = Refund.objects.select_related("order").filter(pk=refund_id).first()
        if refund is None:
            raise Http404(_("There is no refund with the ID {id}.").format(id=refund_id))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return self._issue(
            request, refund.order_id, lambda: issue.issue_credit_note(refund, **self.event_kwargs(request))
        )

    @row_view("cancel/", ISSUE, keyed=True)
    def cancel_view(self, request: HttpRequest, document: IssuedDocument) -> HttpResponse:
        """Show the confirmation page. On POST, cancel the invoice with a credit note."""
        if request.method == "POST":
            return self._issue(
                request, document.order_id, lambda: issue.cancel_invoice(document, **self.event_kwargs(request))
            )
        return self.page(
            request,
            "panel/documents/cancel.html",
            _("Cancel invoice {name}").format(name=document),
            original=document,
            total=self.total_label(document),
            back=get_order_url(document.order_id),
        )

    def _issue(self, request: HttpRequest, order_id: int, run: Callable[[], IssuedDocument]) -> HttpResponse:
        try:
            document = run()
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            kind = Kind(document.kind).label
            self.message_user(
                request, _("{kind} {name} was issued.").format(kind=kind, name=document), messages.SUCCESS
            )
            _fonts, missing = choose_fonts(iterate_texts(document))
            if missing:
                text = _("The PDF file can't show these characters: {characters}. Ask the operator to install a font.")
                self.message_user(request, text.format(characters=" ".join(missing)), messages.WARNING)
        return HttpResponseRedirect(f"{get_order_url(order_id)}#documents")

    @extra_view("orders/<int:order_id>/packing-slip/", VIEW_SLIPS, name="packing_slip")
    def packing_slip_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        order = self._get_order_or_404(order_id)
        return self._render_packing_slips(request, [order.pk], get_order_url(order.pk))

    @extra_view("orders/<int:order_id>/return-slip/", VIEW_SLIPS, name="return_slip")
    def return_slip_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        order = self._get_order_or_404(order_id)
        content = write_return_slip(order, at=timezone.now())
        if content is None:
            self.message_user(request, _("The customer has no items that could be returned."), messages.WARNING)
            return HttpResponseRedirect(get_order_url(order.pk))
        return create_pdf_response(content, f"return-slip-{order.number}")

    @extra_view("print/", VIEW, name="print")
    def print_view(self, request: HttpRequest) -> HttpResponse:
        """Return the invoices of the orders in the query string as one PDF file."""
        ids = self._read_ids(request)
        documents = issue.get_invoice_ids(ids)
        if not documents:
            self.message_user(request, _("These orders have no invoices. Issue the invoices first."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:orders_order_changelist"))
        return create_pdf_response(write_document_files(documents), "invoices")

    @extra_view("packing-slips/", VIEW_SLIPS, name="packing_slips")
    def packing_slips_view(self, request: HttpRequest) -> HttpResponse:
        """Return the packing slips of the orders in the query string as one PDF file."""
        return self._render_packing_slips(request, self._read_ids(request), reverse("admin:orders_order_changelist"))

    def _render_packing_slips(self, request: HttpRequest, ids: Sequence[int], back: str) -> HttpResponse:
        content = write_packing_slip_files(ids, at=timezone.now())
        if content is None:
            self.message_user(request, _("There is nothing to pack."), messages.WARNING)
            return HttpResponseRedirect(back)
        return create_pdf_response(content, "packing-slips")

    def _read_ids(self, request: HttpRequest) -> list[int]:
        parts = request.GET.get("ids", "").split(",")
        ids = [int(part) for part in parts if part.isdecimal() and len(part) <= 18]
        return list(dict.fromkeys(ids))[:MAX_PER_PAGE]

    def _get_order_or_404(self, order_id: int) -> Order:
        order = Order.objects.filter(pk=order_id).first()
        if order is None:
            raise Http404(_("There is no order with the ID {id}.").format(id=order_id))
        return order
