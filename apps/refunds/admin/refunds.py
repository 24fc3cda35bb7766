"""Refunds in the panel: made in two steps, listed, and followed until the money is back."""

from django.contrib import admin, messages
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.ground.errors import DomainError
from apps.ground.money import ZERO
from apps.orders.domain.bill import in_shop_currency
from apps.orders.models import Order, Transaction
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context, in_shop
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.screens.filters import Choices, PeriodFilter, Screen, SelectFilter
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.refunds import mails
from apps.refunds.admin import duties, reports, steps
from apps.refunds.admin.form import RefundForm
from apps.refunds.admin.permissions import ADD, VIEW
from apps.refunds.admin.shown import shown, with_parts
from apps.refunds.admin.words import amounts, difference, goods_move, money_moves
from apps.refunds.domain import creating, settling
from apps.refunds.domain.calculation import LIVING, with_tax
from apps.refunds.domain.owed import FAILED, with_money_owed
from apps.refunds.domain.previewing import Preview
from apps.refunds.domain.requests import Books, RefundRefused, Wanted
from apps.refunds.models import Refund, RefundReason


class RefundedFilter(PeriodFilter):
    """By when it happened."""

    field = "processed_at"


class OwedFilter(SelectFilter):
    """Those whose money is still to go back."""

    title = gettext_lazy("money")
    parameter_name = "money"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The one question."""
        return [("owed", _("Failed, still owed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Refund]) -> QuerySet[Refund]:
        """Only those."""
        return with_money_owed(queryset) if self.value() == "owed" else queryset


@admin.register(Refund)
class RefundAdmin(ReadOnly, ShopOwnedAdmin[Refund]):
    """What was refunded; a refund is made from the page of its order, and never changed."""

    menu = Menu(
        "Sales",
        "currency_exchange",
        15,
        words=pgettext_lazy("search", "return, money back, pay back, reimbursement, chargeback, complaint"),
    )
    intro = gettext_lazy("What went back to customers. A refund begins on the page of its order.")
    empty_text = gettext_lazy("No refund here. Open an order and choose Refund…")
    list_display = ("name", "processed_at", "amount", "outcome", "reason", "note")
    list_self_evident = ("amount", "reason", "note")
    list_display_links = ("name",)
    list_filter = (RefundedFilter, OwedFilter, "reason")
    list_filter_submit = True
    list_select_related = ("order",)
    search_fields = ("order__name__exact",)
    place_in_search = 60
    search_help_text = gettext_lazy("The number of an order, such as #1001")
    ordering = ("-id",)
    sortable_by = ("processed_at",)
    actions = None

    # --- the list ---

    @display(description=gettext_lazy("Order"))
    def name(self, refund: Refund) -> str:
        """Whose it is."""
        return refund.order.name

    @display(description=gettext_lazy("Given back"))
    def amount(self, refund: Refund) -> str:
        """How much money."""
        return amounts(row for row in _rows(refund) if row.status in LIVING) or "–"

    @display(
        description=gettext_lazy("Money"),
        label={"done": "success", "waits": "warning", "failed": "danger", "none": "default"},
    )
    def outcome(self, refund: Refund) -> tuple[str, str]:
        """How far it is."""
        found = {row.status for row in _rows(refund)}
        if found.intersection(FAILED):
            return "failed", _("Failed")
        if Transaction.Status.PENDING in found:
            return "waits", _("Waiting")
        return ("done", _("Given back")) if found else ("none", _("None"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Refund]:
        """With the money."""
        return super().get_queryset(request).prefetch_related("transactions__transaction")

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """None in the panel-wide search, where the order itself is found."""
        match = request.resolver_match
        return () if match and match.url_name == "search" else self.search_fields

    def get_urls(self) -> list[URLPattern]:
        """Making one, and what belongs to that."""
        return [
            self.action_url("report/", self.report_view, "report"),
            self.action_url("report/file/", self.report_file_view, "report_file"),
            self.action_url("of/<int:order_id>/", self.new_view, "new", keyed=True),
            self.action_url("of/<int:order_id>/calculation/", self.calculation_view, "calculation"),
            self.action_url("<path:object_id>/ask/<int:transaction_id>/", self.ask_view, "ask", keyed=True),
            *super().get_urls(),
        ]

    def report_view(self, request: HttpRequest) -> HttpResponse:
        """What was refunded, when and why."""
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return reports.report_view(request, base)

    def report_file_view(self, request: HttpRequest) -> HttpResponse:
        """A table of it."""
        return reports.file_view(request)

    # --- one of them ---

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """A refund, with how far its money is."""
        require(request, VIEW)
        refund = self.row_or_404(request, object_id)
        order = refund.order
        (found,) = (each for each in shown(order, with_parts(order)) if each.row.pk == refund.pk)
        context = {"original": refund, "order": order, "refund": found, "may_refund": may(request, ADD)}
        return self.page(
            request, "panel/refunds/refund.html", _("Refund of order {order}").format(order=order), **context
        )

    def ask_view(self, request: HttpRequest, object_id: str, transaction_id: int) -> HttpResponse:
        """Ask the gateway of a promised refund once more, now."""
        require(request, ADD)
        refund = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = get_object_or_404(Transaction.objects.filter(refund_payment__refund=refund), pk=transaction_id)
        if settling.ask_again(row, actor=self.actor(request)):
            self.message_user(
                request, _("{gateway} is being asked. Load the page again in a moment.").format(gateway=row.gateway)
            )
        else:
            self.message_user(
                request, _("{gateway} has answered already.").format(gateway=row.gateway), messages.WARNING
            )
        return _to_order(refund.order_id)

    # --- making one ---

    def new_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """The form; then the second look; then the refund, once."""
        require(request, ADD)
        order = _order_or_404(order_id)
        if request.method != "POST":
            return self._form_page(request, RefundForm(Books.of(order), **steps.beginning(request, order)))
        form = RefundForm(Books.of(order), request.POST)
        step = request.POST.get("step", "")
        if step == "edit":
            return self._form_page(request, form)
        looked = form.look(at=timezone.now())
        if looked is None or step not in {"look", "refund"}:
            return self._form_page(request, form)
        wanted, preview = looked
        if step == "refund" and request.POST.get("seen") == steps.summary(order, preview):
            return self._make(request, order, form, wanted)
        return self._second_look(request, form, wanted, preview, changed=step == "refund")

    def calculation_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """What the form would come to as it is typed; nothing is written."""
        require(request, ADD)
        order = _order_or_404(order_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return render(
            request, "panel/refunds/calculation.html", steps.calculated(RefundForm(Books.of(order), request.POST))
        )

    def _make(self, request: HttpRequest, order: Order, form: RefundForm, wanted: Wanted) -> HttpResponse:
        try:
            refund = creating.create_refund(order, wanted, **self.by(request), user_id=in_shop(request).user.pk)
        except creating.TooManyRefunds as refusal:
            wait = refusal.headers.get("Retry-After", "60")
            form.add_error(
                None,
                _("A shop on trial can make {count} refunds a minute. Wait {seconds} seconds.").format(
                    count=creating.PER_MINUTE, seconds=wait
                ),
            )
        except RefundRefused as refusal:
            form.refuse(refusal.errors, wanted)
        except DomainError as refusal:
            form.add_error(None, in_words(refusal))
        else:
            rows = [each.transaction for each in refund.transactions.select_related("transaction").order_by("pk")]
            self.message_user(
                request, _("Refunded: {amount}.").format(amount=amounts(rows) or _("no money")), messages.SUCCESS
            )
            return _to_order(order.pk)
        return self._form_page(request, form)

    def _form_page(self, request: HttpRequest, form: RefundForm) -> HttpResponse:
        order = form.books.order
        return self.page(
            request,
            "panel/refunds/form.html",
            _("Refund order {order}").format(order=order),
            original=order,
            form=form,
            shipping_left=in_shop_currency(order)(form.shipping_left) if form.shipping_left else "",
            **steps.calculated(form),
        )

    def _second_look(
        self, request: HttpRequest, form: RefundForm, wanted: Wanted, preview: Preview, *, changed: bool
    ) -> HttpResponse:
        """What exactly happens on the next click."""
        order = form.books.order
        money, moved = in_shop_currency(order), amounts(preview.rows)
        shipping = sum((with_tax(order, part.amount, part.tax) for part in preview.found.shipping), ZERO)
        return self.page(
            request,
            "panel/refunds/look.html",
            _("Refund order {order}: look once more").format(order=order),
            original=order,
            sent=steps.resent(request.POST, form, wanted),
            seen=steps.summary(order, preview),
            changed=changed,
            moved=moved,
            money_moves=money_moves(preview.rows),
            goods_move=goods_move(preview),
            duties_move=duties.moves(order, preview.found.duties),
            shipping=money(shipping) if preview.found.shipping else "",
            difference=difference(preview.discrepancy, money),
            reason=str(RefundReason(wanted.reason).label) if wanted.reason else "",
            note=wanted.note,
            mail=_letter(order, preview) if wanted.notify and order.email else None,
        )


def _letter(order: Order, preview: Preview) -> EmailMessage:
    units = [(each.quantity, each.line.name) for each in preview.named]
    shipping, duties_back = bool(preview.found.shipping), bool(preview.found.duties)
    return mails.letter(order, units, preview.rows, shipping=shipping, duties=duties_back)


def _rows(refund: Refund) -> list[Transaction]:
    return [each.transaction for each in refund.transactions.all()]


def _order_or_404(pk: int) -> Order:
    return get_object_or_404(Order.objects.all(), pk=pk)


def _to_order(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:orders_order_change", args=[pk]))


home.add_task(
    home.Task(
        gettext_lazy("Failed refunds"),
        gettext_lazy("their money is still owed to the customers"),
        Refund,
        "money=owed",
        lambda request: with_money_owed(Refund.rows()),
        order=15,
        is_urgent=True,
    )
)
