"""The refund admin: list, detail page, and a form with a review step."""

from django.contrib import admin, messages
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.lists.filters import Choices, PeriodFilter, Screen, SelectFilter
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import as_staff_request
from apps.core.admin.theme import attribute_column, display
from apps.core.db.lookups import in_materialized
from apps.core.exceptions import DomainError
from apps.core.money import ZERO
from apps.orders.admin.number_search import find_by_number
from apps.orders.admin.page_context import get_summary_context
from apps.orders.domain.pricing.totals import get_shop_formatter
from apps.orders.models import Order, Transaction
from apps.refunds import emails
from apps.refunds.admin import duty_fields, wizard
from apps.refunds.admin.forms import RefundForm
from apps.refunds.admin.messages import describe_difference, describe_items, describe_transactions, format_amounts
from apps.refunds.admin.order_page import display_refunds, load_refunds
from apps.refunds.admin.permissions import ADD, VIEW
from apps.refunds.admin.reports import refund_report_page
from apps.refunds.admin.tax_report import tax_report_page
from apps.refunds.domain import create, gateways
from apps.refunds.domain.calculation import ACTIVE_STATUSES, add_tax
from apps.refunds.domain.gateways import FAILED_STATUSES, filter_owed_refunds
from apps.refunds.domain.refund_preview import RefundPreview
from apps.refunds.domain.validation import OrderSnapshot, RefundRefused, RefundRequest
from apps.refunds.models import Refund, RefundReason


class ProcessedFilter(PeriodFilter):
    field = "processed_at"


class OwedMoneyFilter(SelectFilter):
    title = gettext_lazy("status")
    parameter_name = "money"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("owed", _("Failed, not yet refunded"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Refund]) -> QuerySet[Refund]:
        return filter_owed_refunds(queryset) if self.value() == "owed" else queryset


@admin.register(Refund)
class RefundAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Refund]):
    """The read-only admin for refunds. Refunds are created from the order page."""

    menu = MenuItem("Orders", "currency_exchange", 25)
    search_terms = pgettext_lazy("search", "return, money back, pay back, reimbursement, chargeback, complaint")
    intro = gettext_lazy("All refunds. To create a refund, open the order.")
    empty_text = gettext_lazy("No refunds yet. Open an order and choose Refund…")
    numeric_columns = ("amount",)
    list_display = ("name", "processed_at", "amount", "outcome", "reason", "note")
    mobile_hide_labels = ("amount", "reason", "note")
    list_display_links = ("name",)
    list_filter = (ProcessedFilter, OwedMoneyFilter, "reason")
    list_filter_submit = True
    list_select_related = ("order",)
    search_fields = ("order__name__exact",)
    is_in_palette = False
    search_help_text = gettext_lazy("Order number, such as #1001")
    ordering = ("-id",)
    sortable_by = ("processed_at",)
    actions = None

    name = attribute_column("order.name", gettext_lazy("Order"))

    @display(description=gettext_lazy("Amount"))
    def amount(self, refund: Refund) -> str:
        return format_amounts(row for row in _get_transactions(refund) if row.status in ACTIVE_STATUSES) or "–"

    @display(
        description=gettext_lazy("Status"),
        label={"done": "success", "waits": "warning", "failed": "danger", "none": "default"},
    )
    def outcome(self, refund: Refund) -> tuple[str, str]:
        statuses = {row.status for row in _get_transactions(refund)}
        if statuses.intersection(FAILED_STATUSES):
            return "failed", _("Failed")
        if Transaction.Status.PENDING in statuses:
            return "waits", _("Pending")
        return ("done", _("Refunded")) if statuses else ("none", _("None"))

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[Refund], term: str, most: int
    ) -> list[QuerySet[Refund]]:
        """Search by the end of the order number."""
        return [
            queryset.filter(in_materialized(orders.order_by().values("pk")[:most], "order"))
            for orders in find_by_number(Order.rows(), term, most)
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Refund]:
        return super().get_queryset(request).prefetch_related("transactions__transaction")

    @extra_view("report/")
    def report_view(self, request: HttpRequest) -> HttpResponse:
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return refund_report_page.render_page(request, base)

    @extra_view("report/file/", name="report_file")
    def report_file_view(self, request: HttpRequest) -> HttpResponse:
        return refund_report_page.render_file(request)

    @extra_view("taxes/", name="taxes")
    def tax_report_view(self, request: HttpRequest) -> HttpResponse:
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return tax_report_page.render_page(request, base)

    @extra_view("taxes/file/", name="taxes_file")
    def tax_report_file_view(self, request: HttpRequest) -> HttpResponse:
        return tax_report_page.render_file(request)

    @row_view("change/", VIEW, name="change")
    def detail_view(self, request: HttpRequest, refund: Refund) -> HttpResponse:
        order = refund.order
        (displayed_refund,) = (
            displayed for displayed in display_refunds(order, load_refunds(order)) if displayed.row.pk == refund.pk
        )
        context = {
            "original": refund,
            "order": order,
            "refund": displayed_refund,
            "may_refund": has_permission(request, ADD),
        }
        return self.page(
            request, "panel/refunds/refund.html", _("Refund for order {order}").format(order=order), **context
        )

    @row_view("ask/<int:transaction_id>/", ADD, name="ask", post_only=True, keyed=True)
    def retry_view(self, request: HttpRequest, refund: Refund, transaction_id: int) -> HttpResponse:
        """Enqueue an extra gateway call for a pending refund."""
        row = get_object_or_404(Transaction.objects.filter(refund_payment__refund=refund), pk=transaction_id)
        if gateways.retry_refund_payment(row, actor=self.actor(request)):
            self.message_user(
                request,
                _("Checking the refund with {gateway}. Reload the page in a moment.").format(gateway=row.gateway),
            )
        else:
            self.message_user(
                request, _("{gateway} has already responded.").format(gateway=row.gateway), messages.WARNING
            )
        return _redirect_to_order(refund.order_id)

    @extra_view("of/<int:order_id>/", ADD, keyed=True)
    def new_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Show the form, then the review page, and create the refund once it is confirmed."""
        order = get_object_or_404(Order.objects.all(), pk=order_id)
        if request.method != "POST":
            return self._form_page(
                request, RefundForm(OrderSnapshot.load(order), **wizard.get_initial_values(request, order))
            )
        form = RefundForm(OrderSnapshot.load(order), request.POST)
        step = request.POST.get("step", "")
        if step == "edit":
            return self._form_page(request, form)
        reviewed = form.get_preview(at=timezone.now())
        if reviewed is None or step not in {"look", "refund"}:
            return self._form_page(request, form)
        refund_request, preview = reviewed
        if step == "refund" and request.POST.get("seen") == wizard.hash_preview(order, preview):
            return self._make(request, order, form, refund_request)
        return self._review_page(request, form, refund_request, preview, changed=step == "refund")

    @extra_view("of/<int:order_id>/calculation/", ADD)
    def calculation_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Return the calculation for the form's current values, without saving anything."""
        order = get_object_or_404(Order.objects.all(), pk=order_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return render(
            request,
            "panel/refunds/calculation.html",
            wizard.get_calculation_context(RefundForm(OrderSnapshot.load(order), request.POST)),
        )

    def _make(
        self, request: HttpRequest, order: Order, form: RefundForm, refund_request: RefundRequest
    ) -> HttpResponse:
        try:
            refund = create.create_refund(
                order, refund_request, **self.event_kwargs(request), user_id=as_staff_request(request).user.pk
            )
        except create.TooManyRefunds as error:
            wait = error.headers.get("Retry-After", "60")
            form.add_error(
                None,
                _(
                    "Trial and development shops can create at most {count} refunds per minute. "
                    "Try again in {seconds} seconds."
                ).format(count=create.MAX_PER_MINUTE, seconds=wait),
            )
        except RefundRefused as error:
            form.add_domain_errors(error.errors, refund_request)
        except DomainError as error:
            form.add_error(None, format_errors(error))
        else:
            rows = [payment.transaction for payment in refund.transactions.select_related("transaction").order_by("pk")]
            self.message_user(
                request,
                _("Refund created: {amount}.").format(amount=format_amounts(rows) or _("no money refunded")),
                messages.SUCCESS,
            )
            return _redirect_to_order(order.pk)
        return self._form_page(request, form)

    def _form_page(self, request: HttpRequest, form: RefundForm) -> HttpResponse:
        order, summary = form.snapshot.order, get_summary_context(form.snapshot.lines)
        return self.page(
            request,
            "panel/refunds/form.html",
            _("Refund order {order}").format(order=order),
            original=order,
            form=form,
            shipping_left=get_shop_formatter(order)(form.shipping_left) if form.shipping_left else "",
            item_rows=[(row, summary["thumbnails"][row.refundable.line.pk]) for row in form.line_item_rows],
            **summary,
            **wizard.get_calculation_context(form),
            **self.show_under(request, Order),
        )

    def _review_page(
        self,
        request: HttpRequest,
        form: RefundForm,
        refund_request: RefundRequest,
        preview: RefundPreview,
        *,
        changed: bool,
    ) -> HttpResponse:
        order = form.snapshot.order
        money, moved = get_shop_formatter(order), format_amounts(preview.rows)
        shipping = sum((add_tax(order, part.amount, part.tax) for part in preview.calculation.shipping), ZERO)
        return self.page(
            request,
            "panel/refunds/review.html",
            _("Review refund for order {order}").format(order=order),
            original=order,
            sent=wizard.get_hidden_fields(request.POST, form, refund_request),
            seen=wizard.hash_preview(order, preview),
            changed=changed,
            moved=moved,
            money_moves=describe_transactions(preview.rows),
            goods_move=describe_items(preview),
            duties_move=duty_fields.describe_duties(order, preview.calculation.duties),
            shipping=money(shipping) if preview.calculation.shipping else "",
            difference=describe_difference(preview.discrepancy, money),
            reason=str(RefundReason(refund_request.reason).label) if refund_request.reason else "",
            note=refund_request.note,
            mail=_build_email(order, preview) if refund_request.notify and order.email else None,
            given=moved,
            payments=wizard.get_calculation_context(form)["payments"],
            **get_summary_context(form.snapshot.lines),
            **self.show_under(request, Order),
        )


def _build_email(order: Order, preview: RefundPreview) -> EmailMessage:
    units = [(line.quantity, line.line.name) for line in preview.refund_lines]
    shipping, duties_back = bool(preview.calculation.shipping), bool(preview.calculation.duties)
    return emails.build_refund_email(order, units, preview.rows, shipping=shipping, duties=duties_back)


def _get_transactions(refund: Refund) -> list[Transaction]:
    return [payment.transaction for payment in refund.transactions.all()]


def _redirect_to_order(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:orders_order_change", args=[pk]))


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Failed refunds"),
        gettext_lazy("refunds that customers have not received"),
        Refund,
        "money=owed",
        lambda request: filter_owed_refunds(Refund.rows()),
        order=15,
        is_urgent=True,
    )
)
