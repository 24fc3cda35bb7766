"""The order page and its actions. The order list is in ``changelist``."""

from functools import partial

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.pages.tour import TourStep
from apps.core.admin.permissions import has_permission
from apps.core.exceptions import DomainError
from apps.core.tenancy.permissions import allow, grants
from apps.orders.admin import reports
from apps.orders.admin.changelist import OrderList, filter_orders_by_view
from apps.orders.admin.edit_lines import LinesForm, describe_edit, get_page_context
from apps.orders.admin.extension_points import arrange_actions, get_origin, get_other_events, get_sections
from apps.orders.admin.forms import FIELDSETS, REFUND_PERMISSION, CancelForm, OrderForm
from apps.orders.admin.mark_paid import MANUAL_PAYMENT, MarkPaidPages
from apps.orders.admin.page_actions import get_own_actions
from apps.orders.admin.page_context import (
    get_customer_summary,
    get_order_context,
    get_product_links,
    get_summary_context,
    get_thumbnails,
    get_timeline,
)
from apps.orders.domain import payments, transitions, updates
from apps.orders.domain.edit_lines import edit_lines, preview_edit
from apps.orders.models import Order

VIEW, CHANGE = "orders.view_order", "orders.change_order"
COMMENT = "orders.add_comment"

grants.add(
    allow(
        "orders",
        "v",
        "orders.order",
        "orders.lineitem",
        "orders.shippingline",
        "orders.transaction",
        "orders.orderrisk",
        "orders.comment",
    ),
    allow("orders", "a", "orders.comment"),
    allow("edit_orders", "vcd", "orders.order"),
    allow("edit_orders", "a", "orders.transaction"),
)


@admin.register(Order)
class OrderAdmin(MarkPaidPages, OrderList):
    menu = MenuItem("Orders", "orders", 10)
    search_terms = pgettext_lazy(
        "search",
        "purchase, bought, sold, basket, paid, unpaid, channel, sales channel, note",
    )
    tour = TourStep(
        20,
        gettext_lazy("Orders"),
        gettext_lazy(
            "Each order shows what has been paid, what still needs to be fulfilled, and who changed what. Open an "
            "order to refund it, edit its items or address, or leave a comment for your colleagues."
        ),
    )
    intro = gettext_lazy("All orders from your online store, apps and imports.")
    empty_text = gettext_lazy("No orders yet. New orders appear here automatically. You can also import older orders.")
    form = OrderForm
    fieldsets = FIELDSETS
    actions = ("mark_paid", *OrderList.actions)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False, because orders come from the storefront, apps or imports."""
        return False

    @extra_view("report/")
    def report_view(self, request: HttpRequest) -> HttpResponse:
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return reports.report_view(request, base)

    @extra_view("report/answers/", name="report_answers")
    def home_tables_view(self, request: HttpRequest) -> HttpResponse:
        return reports.home_tables_view(request)

    @extra_view("report/file/", name="report_file")
    def report_file_view(self, request: HttpRequest) -> HttpResponse:
        return reports.file_view(request)

    @row_view("change/", VIEW, name="change")
    def detail_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        context = get_order_context(order)
        lines = [line["row"] for line in context["lines"]]
        thumbnails, links = get_thumbnails(lines), get_product_links(request, lines)
        for line in context["lines"]:
            line |= {"picture": thumbnails[line["row"].pk], "link": links.get(line["row"].pk, "")}
        return self.page(
            request,
            "panel/orders/order.html",
            _("Order {order}").format(order=order),
            original=order,
            origin=get_origin(request, order),
            may_change=has_permission(request, CHANGE),
            may_comment=has_permission(request, COMMENT),
            timeline=get_timeline(order, get_other_events(request, order)),
            buyer=get_customer_summary(request, order),
            **context,
            **get_sections(request, order),
            **arrange_actions(request, order, get_own_actions(request, order, context)),
        )

    @extra_view("<path:object_id>/edit/", CHANGE)
    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.changeform_view(request, object_id, "", {"title": _("Edit order")})

    @row_view("lines/", CHANGE, keyed=True)
    def lines_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        """Show the form to edit items and then the review page, and save the edit once it is confirmed."""
        form, step, outcome = LinesForm(order, get_post_data(request)), request.POST.get("step"), None
        if step in {"look", "save"} and form.is_valid():
            try:
                if step == "save":
                    edit_lines(order, form.edit, **self.event_kwargs(request))
                    message = _("The items of order {order} were changed.").format(order=order)
                    self.message_user(request, message, messages.SUCCESS)
                    return self._redirect_to_order(order)
                outcome = preview_edit(order, form.edit, **self.event_kwargs(request))
            except DomainError as error:
                form.add_domain_error(error)
        summary = get_summary_context(form.lines)
        return self.page(
            request,
            "panel/orders/lines.html",
            _("Edit items in order {order}").format(order=order),
            original=order,
            form=form,
            rows=[(row, summary["thumbnails"][row.line.pk]) for row in form.line_rows],
            outcome=outcome and describe_edit(order, outcome),
            **get_order_context(order),
            **summary,
            **get_page_context(form, request.POST),
        )

    def save_model(self, request: HttpRequest, obj: Order, form: OrderForm, change: bool) -> None:
        updates.update_order(Order.objects.get(pk=obj.pk), form.get_order_values, **self.event_kwargs(request))

    def response_post_save_change(self, request: HttpRequest, obj: Order) -> HttpResponseRedirect:
        return self._redirect_to_order(obj)

    def delete_model(self, request: HttpRequest, obj: Order) -> None:
        updates.delete_order(obj, **self.event_kwargs(request))

    # --- actions ---

    @row_view("cancel/", CHANGE, keyed=True)
    def cancel_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        form = self._get_cancel_form(request, order)
        is_valid = request.method == "POST" and form.is_valid()
        # The button names the refund. If the user entered another amount, the review page must be confirmed first.
        is_named = is_valid and request.POST.get("named_refund", form.refund_text) == form.refund_text
        if is_named and (not form.refund_text or request.POST.get("step") == "cancel"):
            options = {name: form.cleaned_data[name] for name in ("reason", "restock", "notify")}
            message = _("Order {order} was canceled.")
            if form.refund_text:
                message = _("Order {order} was canceled and {money} was refunded.")
            return self.run_action(
                request,
                order,
                message.format(order=order, money=form.refund_text),
                partial(transitions.cancel_order, refund=form.refund, **options),
            )
        context = get_order_context(order)
        return self.page(
            request,
            "panel/orders/cancel.html",
            _("Cancel order {order}").format(order=order),
            original=order,
            form=form,
            looking=is_valid and request.POST.get("step") != "edit",
            **context,
            **get_summary_context([line["row"] for line in context["lines"]]),
            **form.summarize_payments(),
        )

    @row_view("cancel/summary/", CHANGE, post_only=True)
    def cancel_summary_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        """Return the payments before and after the refund of the entered amount, without saving anything."""
        form = self._get_cancel_form(request, order)
        return render(request, "panel/orders/payment_summary.html", form.summarize_payments())

    def _get_cancel_form(self, request: HttpRequest, order: Order) -> CancelForm:
        return CancelForm(order, get_post_data(request), may_refund=has_permission(request, REFUND_PERMISSION))

    @row_view("close/", CHANGE, post_only=True, keyed=True)
    def close_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        return self.run_action(request, order, _("The order was closed."), transitions.close_order)

    @row_view("open/", CHANGE, post_only=True, keyed=True)
    def open_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        return self.run_action(request, order, _("The order was reopened."), transitions.reopen_order)

    @row_view("capture/", CHANGE, post_only=True, keyed=True)
    def capture_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        """Capture the remaining amount of the newest authorization."""
        capture = partial(payments.create_transaction, attrs={"kind": "capture"})
        return self.run_action(request, order, _("The payment was captured."), capture)

    @row_view("paid/", CHANGE, post_only=True, keyed=True)
    def paid_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        pay = partial(payments.create_transaction, attrs=MANUAL_PAYMENT)
        return self.run_action(request, order, _("The order was marked as paid."), pay)

    @row_view("comment/", COMMENT, post_only=True, keyed=True)
    def comment_view(self, request: HttpRequest, order: Order) -> HttpResponse:
        comment = partial(updates.add_comment, text=request.POST.get("comment", ""))
        return self.run_action(request, order, _("Comment added."), comment)

    def _redirect_to_order(self, order: Order) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.url("change", order.pk))


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Unpaid orders"),
        gettext_lazy("open orders that are not paid in full"),
        Order,
        "view=unpaid",
        lambda request: filter_orders_by_view(Order.rows(), "unpaid"),
        order=30,
    ),
    dashboard.Task(
        gettext_lazy("Refunds due"),
        gettext_lazy("orders for which you owe the customer money"),
        Order,
        "view=owed",
        lambda request: filter_orders_by_view(Order.rows(), "owed"),
        order=35,
    ),
)
