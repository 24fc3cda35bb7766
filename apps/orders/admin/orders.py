"""Orders as staff see them: a page that reads like a story; its list stands in ``listing``."""

from collections.abc import Callable
from typing import Unpack

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.customers.models import Customer
from apps.ground.errors import DomainError
from apps.orders.admin import reports
from apps.orders.admin.additions import added, events_of
from apps.orders.admin.amending import LinesForm, around, shown
from apps.orders.admin.beside import buyer, linked, pictures
from apps.orders.admin.cancelling import REFUND, CancelForm
from apps.orders.admin.forms import FIELDSETS, OrderForm
from apps.orders.admin.listing import OrderList
from apps.orders.admin.parts import CustomersOrders, in_view
from apps.orders.admin.story import tell, timeline
from apps.orders.domain import editing, payments, transitions
from apps.orders.domain.amending import edit_lines, preview
from apps.orders.models import Order
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.requests import By, Context
from apps.panel.screens.extensions import add_inline
from apps.panel.tour import Step
from apps.panel.wording import in_words
from apps.staff.domain.permissions import grant

VIEW, CHANGE, DELETE = (f"orders.{verb}_order" for verb in ("view", "change", "delete"))
COMMENT = "orders.add_comment"

grant("orders", "v", "orders.order", "orders.lineitem", "orders.shippingline", "orders.transaction", "orders.comment")
grant("orders", "a", "orders.comment")
grant("edit_orders", "vcd", "orders.order")
grant("edit_orders", "a", "orders.transaction")


@admin.register(Order)
class OrderAdmin(OrderList):
    """The shop's orders."""

    menu = Menu(
        "Sales",
        "orders",
        10,
        words=pgettext_lazy(
            "search",
            "purchase, bought, sold, basket, invoice, bill, paid, unpaid, channel, sales channel, note",
        ),
    )
    tour = Step(
        20,
        gettext_lazy("What was bought"),
        gettext_lazy(
            "Each order says what was paid, what is still to be sent, and who changed what. Open one to pay "
            "back, to change its lines or its address, or to leave a note for your colleagues."
        ),
    )
    intro = gettext_lazy("What was bought. Orders come from your storefront, from apps, or from an import.")
    empty_text = gettext_lazy("No order here. New ones appear by themselves; older ones can be imported.")
    form = OrderForm
    fieldsets = FIELDSETS

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Orders are not written by hand."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """The order's own actions, besides Django's pages."""
        return [
            self.action_url("report/", self.report_view, "report"),
            self.action_url("report/answers/", self.report_answers_view, "report_answers"),
            self.action_url("report/file/", self.report_file_view, "report_file"),
            self.action_url("<path:object_id>/edit/", self.edit_view, "edit"),
            self.action_url("<path:object_id>/lines/", self.lines_view, "lines", keyed=True),
            self.action_url("<path:object_id>/cancel/", self.cancel_view, "cancel", keyed=True),
            self.action_url("<path:object_id>/close/", self.close_view, "close", keyed=True),
            self.action_url("<path:object_id>/open/", self.open_view, "open", keyed=True),
            self.action_url("<path:object_id>/capture/", self.capture_view, "capture", keyed=True),
            self.action_url("<path:object_id>/paid/", self.paid_view, "paid", keyed=True),
            self.action_url("<path:object_id>/comment/", self.comment_view, "comment", keyed=True),
            *super().get_urls(),
        ]

    def report_view(self, request: HttpRequest) -> HttpResponse:
        """What was sold, to whom, and what most of."""
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return reports.report_view(request, base)

    def report_answers_view(self, request: HttpRequest) -> HttpResponse:
        """Tables of the report that the home page shows too."""
        return reports.answers_view(request)

    def report_file_view(self, request: HttpRequest) -> HttpResponse:
        """A table of it."""
        return reports.file_view(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """The story of an order."""
        require(request, VIEW)
        order: Order = self.row_or_404(request, object_id)
        told = tell(order)
        lines = [line["row"] for line in told["lines"]]
        shown, links = pictures(lines), linked(request, lines)
        for line in told["lines"]:
            line |= {"picture": shown[line["row"].pk], "link": links.get(line["row"].pk, "")}
        return self.page(
            request,
            "panel/orders/order.html",
            _("Order {order}").format(order=order),
            original=order,
            may_change=may(request, CHANGE),
            may_delete=may(request, DELETE),
            may_comment=may(request, COMMENT),
            timeline=timeline(order, events_of(request, order)),
            buyer=buyer(request, order),
            **told,
            **added(request, order),
        )

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The form of what staff may change by hand."""
        require(request, CHANGE)
        return self.changeform_view(request, object_id, "", {"title": _("Change the order")})

    def lines_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask what becomes of the lines, show what that changes, then do it."""
        require(request, CHANGE)
        order: Order = self.row_or_404(request, object_id)
        form, step, outcome = LinesForm(order, posted(request)), request.POST.get("step"), None
        if step in {"look", "save"} and form.is_valid():
            try:
                if step == "save":
                    edit_lines(order, form.edit, **self.by(request))
                    done = _("The lines of order {order} are changed.").format(order=order)
                    self.message_user(request, done, messages.SUCCESS)
                    return self._back(order)
                outcome = preview(order, form.edit, **self.by(request))
            except DomainError as refusal:
                form.refuse(refusal)
        return self.page(
            request,
            "panel/orders/lines.html",
            _("Edit the lines of order {order}").format(order=order),
            original=order,
            form=form,
            outcome=outcome and shown(order, outcome),
            **around(form, request.POST),
        )

    def save_model(self, request: HttpRequest, obj: Order, form: OrderForm, change: bool) -> None:
        """Through the service, which checks and records."""
        editing.update_order(Order.objects.get(pk=obj.pk), form.values, **self.by(request))

    def response_post_save_change(self, request: HttpRequest, obj: Order) -> HttpResponseRedirect:
        """Back to the story."""
        return self._back(obj)

    def delete_model(self, request: HttpRequest, obj: Order) -> None:
        """Through the service, which keeps what book-keeping needs."""
        editing.delete_order(obj, **self.by(request))

    # --- actions ---

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, and what becomes of the stock; then cancel."""
        require(request, CHANGE)
        order: Order = self.row_or_404(request, object_id)
        form = CancelForm(order, posted(request), may_refund=may(request, REFUND))
        is_fine = request.method == "POST" and form.is_valid()
        # Where money moves, somebody looks twice.
        if is_fine and (not form.money or request.POST.get("step") == "cancel"):
            data = form.cleaned_data
            return self._do(
                request,
                order,
                _("Order {order} is cancelled and {money} refunded.").format(order=order, money=form.money)
                if form.money
                else _("Order {order} is cancelled.").format(order=order),
                lambda by: transitions.cancel(
                    order,
                    reason=data["reason"],
                    restock=data["restock"],
                    notify=data["notify"],
                    refund=form.refund,
                    **by,
                ),
            )
        return self.page(
            request,
            "panel/orders/cancel.html",
            _("Cancel order {order}").format(order=order),
            original=order,
            form=form,
            looking=is_fine and request.POST.get("step") == "look",
            **tell(order),
        )

    def close_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Put the order into the archive."""
        return self._act(request, object_id, _("The order is closed."), transitions.close)

    def open_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the order out of the archive."""
        return self._act(request, object_id, _("The order is open again."), transitions.reopen)

    def capture_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Capture what is left of the newest authorization."""

        def capture(order: Order, **by: Unpack[By]) -> object:
            return payments.create_transaction(order, {"kind": "capture"}, **by)

        return self._act(request, object_id, _("The payment is captured."), capture)

    def paid_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Note that the rest was paid by hand."""

        def note(order: Order, **by: Unpack[By]) -> object:
            return payments.create_transaction(order, {"kind": "sale", "gateway": "manual"}, **by)

        return self._act(request, object_id, _("The order is marked as paid."), note)

    def comment_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Add a comment to the timeline."""
        text = request.POST.get("comment", "")

        def note(order: Order, **by: Unpack[By]) -> object:
            return editing.add_comment(order, text, **by)

        return self._act(request, object_id, _("The comment is on the timeline."), note, permission=COMMENT)

    def _act(
        self, request: HttpRequest, object_id: str, done: str, move: Callable[..., object], *, permission: str = CHANGE
    ) -> HttpResponse:
        require(request, permission)
        order: Order = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return self._do(request, order, done, lambda by: move(order, **by))

    def _do(self, request: HttpRequest, order: Order, done: str, move: Callable[[By], object]) -> HttpResponse:
        """Do it, and say what came of it."""
        try:
            move(self.by(request))
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            self.message_user(request, done, messages.SUCCESS)
        return self._back(order)

    def _back(self, order: Order) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.url("change", order.pk))


add_inline(Customer, CustomersOrders)


home.add_task(
    home.Task(
        gettext_lazy("Unpaid orders"),
        gettext_lazy("open, and not yet paid in full"),
        Order,
        "view=unpaid",
        lambda request: in_view(Order.rows(), "unpaid"),
        order=30,
    )
)
