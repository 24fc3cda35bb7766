"""Actions of the order list: print packing slips and invoices, and issue invoices."""

from collections.abc import Callable
from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy, ngettext

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.lists.selection import InvalidSelection, get_selected_ids
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.registry import ListAction, list_actions
from apps.core.jobs import queue
from apps.core.tenancy.models import User
from apps.documents.admin.documents import ISSUE, VIEW, VIEW_SLIPS
from apps.documents.domain.automatic import TASK, get_orders_to_invoice
from apps.documents.domain.bulk_files import INVOICES, PACKING_SLIPS
from apps.documents.domain.files import MAX_LINES_PER_PAGE, MAX_PER_FILE, MAX_PER_PAGE
from apps.documents.domain.issue import get_invoice_ids
from apps.imports_exports.domain import exports
from apps.imports_exports.models import Format
from apps.orders.models import LineItem, Order

OrderScreen = ShopOwnedAdmin[Order]


def _get_ids(screen: OrderScreen, request: HttpRequest, queryset: QuerySet[Order]) -> list[int] | None:
    try:
        return get_selected_ids(request, queryset, limit=MAX_PER_FILE)
    except InvalidSelection as error:
        screen.message_user(request, format_errors(error), messages.ERROR)
        return None


def _print(screen: OrderScreen, request: HttpRequest, ids: list[int], *, page: str, kind: str) -> HttpResponse:
    """Redirect to the PDF file of a few orders. A background job writes the file of many orders or items."""
    if len(ids) <= MAX_PER_PAGE and LineItem.objects.filter(order__in=ids).count() <= MAX_LINES_PER_PAGE:
        return HttpResponseRedirect(f"{reverse(f'admin:{page}')}?ids={','.join(map(str, ids))}")
    user = cast("User", request.user)
    options = screen.event_kwargs(request)
    export = exports.create_export(kind=kind, format=Format.PDF, filters={"ids": ids}, user=user, **options)
    return HttpResponseRedirect(reverse("admin:imports_exports_export_change", args=[export.pk]))


@admin.action(description=gettext_lazy("Print packing slips"))
def print_packing_slips(screen: OrderScreen, request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse | None:
    ids = _get_ids(screen, request, queryset)
    if ids is None:
        return None
    return _print(screen, request, ids, page="documents_issueddocument_packing_slips", kind=PACKING_SLIPS)


@admin.action(description=gettext_lazy("Invoices (PDF)"))
def print_invoices(screen: OrderScreen, request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse | None:
    ids = _get_ids(screen, request, queryset)
    if ids is None:
        return None
    invoiced = len(get_invoice_ids(ids))
    if missing := len(ids) - invoiced:
        text = ngettext(
            "{count} order has no invoice and is not in the file.",
            "{count} orders have no invoices and are not in the file.",
            missing,
        )
        screen.message_user(request, text.format(count=missing), messages.WARNING)
    if not invoiced:
        return None
    return _print(screen, request, ids, page="documents_issueddocument_print", kind=INVOICES)


@admin.action(description=gettext_lazy("Issue invoices"))
def issue_invoices(screen: OrderScreen, request: HttpRequest, queryset: QuerySet[Order]) -> None:
    """Enqueue a job for each selected order that can have an invoice and has none."""
    ids = _get_ids(screen, request, queryset)
    if ids is None:
        return
    wanted = get_orders_to_invoice(ids)
    if wanted:
        queue.enqueue_many(TASK, [{"order_id": pk} for pk in wanted], actor=screen.actor(request))
        text = ngettext("{count} invoice will be issued.", "{count} invoices will be issued.", len(wanted))
        screen.message_user(request, text.format(count=len(wanted)), messages.SUCCESS)
    if skipped := len(ids) - len(wanted):
        text = ngettext(
            "{count} order was skipped. It has an invoice, is canceled or is a test order.",
            "{count} orders were skipped. They have invoices, are canceled or are test orders.",
            skipped,
        )
        screen.message_user(request, text.format(count=skipped), messages.WARNING)


_ACTIONS: tuple[tuple[Callable[..., HttpResponse | None], str], ...] = (
    (print_packing_slips, VIEW_SLIPS),
    (print_invoices, VIEW),
    (cast("Callable[..., None]", issue_invoices), ISSUE),
)
for _function, _permission in _ACTIONS:
    list_actions.add(ListAction(Order, _function, _permission))
