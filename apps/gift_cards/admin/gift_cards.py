"""The panel pages of gift cards: the page of a card, and the pages that issue, adjust and disable cards."""

from datetime import datetime
from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from apps.core.admin.display.acts import describe_events
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.lists.paginator import BoundedPaginator
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import Fieldset
from apps.core.events.timelines import get_latest_events
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.customers.models import Customer
from apps.gift_cards.admin.changelist import GiftCardList
from apps.gift_cards.admin.columns import STATE_KINDS
from apps.gift_cards.admin.form_summary import summarize_gift_card
from apps.gift_cards.admin.forms import AdjustForm, CodeForm, GiftCardForm, IssueForm
from apps.gift_cards.admin.ledger import ROWS_PER_PAGE, build_ledger, get_ledger_rows
from apps.gift_cards.admin.order_payment import PERMISSION, confirm_payment, load_payment
from apps.gift_cards.admin.report import gift_card_report_page
from apps.gift_cards.domain import codes, delivery, gift_cards
from apps.gift_cards.models import GiftCard
from apps.orders.models import Order

VIEW, ADD, CHANGE = (f"gift_cards.{verb}_giftcard" for verb in ("view", "add", "change"))
# The step that only describes the input.
SUMMARY = "summary"
_MAX_EVENTS = 50


@admin.register(GiftCard)
class GiftCardAdmin(GiftCardList):
    menu = MenuItem("Products", "redeem", 60)
    add_title = gettext_lazy("Issue gift card")
    search_terms = pgettext_lazy("search", "voucher, gift certificate, store credit, balance, present, liability")
    intro = gettext_lazy("Issued gift cards. Codes are not stored, so a lost code can't be shown again.")
    empty_text = gettext_lazy("No gift cards yet. Issue a gift card and give its code to the customer.")
    form = GiftCardForm
    change_form_template = "panel/gift_cards/gift_card.html"

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Return False, because the ledger is needed for bookkeeping."""
        return False

    def get_fieldsets(self, request: HttpRequest, obj: GiftCard | None = None) -> tuple[Fieldset, ...]:
        may_set_customer = obj is not None and obj.customer_id is None and self.has_change_permission(request)
        fields = ("expires_on", "customer_email", "note") if may_set_customer else ("expires_on", "note")
        return ((None, {"fields": fields}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[GiftCard]:
        return super().get_queryset(request).select_related("customer", "recipient")

    def render_change_form(
        self, request: HttpRequest, context: Context, *args: object, **kwargs: object
    ) -> HttpResponse:
        card: GiftCard = context["original"]
        state, label = self.state_label(card)
        ledger_page = BoundedPaginator(get_ledger_rows(card), ROWS_PER_PAGE).get_page(request.GET.get("p"))
        context |= {
            "card_state": (STATE_KINDS[state], label),
            "sums": [
                (pgettext("gift card", "Balance"), self.balance_label(card)),
                (_("Initial value"), self.value_label(card)),
                (_("Expires on"), formats.format_date(card.expires_on, "j M Y") if card.expires_on else "–"),
            ],
            "send_time": _format_time(card.send_at) if delivery.will_be_sent(card, at=timezone.now()) else "",
            "ledger": build_ledger(
                card, ledger_page.object_list, links_orders=has_permission(request, "orders.view_order")
            ),
            "ledger_page": ledger_page,
            "show_save_and_add_another": False,
            "may_adjust": card.disabled_at is None and has_permission(request, CHANGE),
            "has_no_code": card.code_digest is None,
            "may_view_customer": has_permission(request, "customers.view_customer"),
            "timeline": describe_events(request, list(get_latest_events(card, _MAX_EVENTS))),
        }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[arg-type]

    def save_model(self, request: HttpRequest, obj: GiftCard, form: GiftCardForm, change: bool) -> None:
        gift_cards.update_gift_card(GiftCard.objects.get(pk=obj.pk), form.attrs, **self.event_kwargs(request))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Show the form to issue a card, or issue the card and show its code once."""
        require_permission(request, ADD)
        customer = self._get_customer(request)
        form = IssueForm(get_post_data(request), customer=customer)
        summary = summarize_gift_card(form)
        if request.method == "POST" and request.POST.get("step") != SUMMARY and form.is_valid():
            try:
                response = submit_once_or_redirect(request, lambda: self._issue(request, form), keyed=True)
                return cast("HttpResponse", response)
            except DomainError as error:
                form.add_domain_error(error)
        title = _("Issue gift card")
        return self.page(request, "panel/gift_cards/issue.html", title, form=form, customer=customer, summary=summary)

    def _get_customer(self, request: HttpRequest) -> Customer | None:
        """Return the customer that the link to the form names, if any."""
        number = request.GET.get("customer", "")
        if not number:
            return None
        require_permission(request, "customers.view_customer")
        is_id = number.isascii() and number.isdigit() and len(number) <= 18
        customer = Customer.objects.filter(pk=int(number)).first() if is_id else None
        if customer is None:
            raise Http404(_("There is no {model} with the ID {id}.").format(model=_("customer"), id=number))
        return customer

    def _issue(self, request: HttpRequest, form: IssueForm) -> HttpResponse:
        card, code = delivery.issue_gift_card(form.attrs, app=None, **self.event_kwargs(request))
        return self._show_code(request, card, code, _("Gift card issued"), self.value_label(card))

    def _show_code(self, request: HttpRequest, card: GiftCard, code: str, title: str, value: str) -> HttpResponse:
        """Return the page with a code. Like a new token, it is only in this response, which is never stored."""
        url = self.url("change", card.pk)
        response = self.page(
            request,
            "panel/gift_cards/code.html",
            title,
            original=card,
            code=codes.format_code(code),
            value=value,
            shop_name=self.shop(request).name,
            expires_on=formats.format_date(card.expires_on, "j M Y") if card.expires_on else "",
            send_time=_format_time(card.send_at),
            card_url=url,
        )
        response.status_code = 201
        response["Content-Location"] = url
        add_never_cache_headers(response)
        return response

    @extra_view("report/")
    def report_view(self, request: HttpRequest) -> HttpResponse:
        base = {**self.admin_site.each_context(request), "opts": self.opts, "model_admin": self}
        return gift_card_report_page.render_page(request, base)

    @extra_view("report/file/", name="report_file")
    def report_file_view(self, request: HttpRequest) -> HttpResponse:
        return gift_card_report_page.render_file(request)

    @extra_view("of/<int:order_id>/", PERMISSION, keyed=True)
    def pay_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Show the form for the code, then the amount, and pay the order once the amount is confirmed."""
        order = get_object_or_404(Order.objects.all(), pk=order_id)
        by = self.event_kwargs(request)
        payment = load_payment(request, order, at=by["at"])
        if request.POST.get("step") == "pay" and (message := confirm_payment(request, payment, **by)):
            self.message_user(request, message, messages.SUCCESS)
            return HttpResponseRedirect(reverse("admin:orders_order_change", args=[order.pk]))
        title = _("Pay order {order} with a gift card").format(order=order)
        response = self.page(request, "panel/gift_cards/pay.html", title, original=order, payment=payment)
        # The page can contain a code.
        add_never_cache_headers(response)
        return response

    @row_view("adjust/", CHANGE, keyed=True)
    def adjust_view(self, request: HttpRequest, card: GiftCard) -> HttpResponse:
        form = AdjustForm(get_post_data(request), card=card)
        if request.method == "POST" and form.is_valid():
            try:
                row = gift_cards.adjust_balance(card, form.attrs, app=None, **self.event_kwargs(request))
            except DomainError as error:
                form.add_domain_error(error)
            else:
                text = _("The balance is now {balance}.").format(balance=self.balance_label(row.card))
                self.message_user(request, text, messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", card.pk))
        return self.page(
            request,
            "panel/gift_cards/form.html",
            _("Adjust balance"),
            original=card,
            form=form,
            balance=self.balance_label(card),
            button=_("Adjust balance"),
        )

    @row_view("code/", CHANGE, keyed=True)
    def code_view(self, request: HttpRequest, card: GiftCard) -> HttpResponse:
        """Show the form for the code of a card without a code. On POST, set the code and show it once."""
        form = CodeForm(get_post_data(request))
        if request.method == "POST" and form.is_valid():
            try:
                code = gift_cards.set_code(card, form.cleaned_data["code"], **self.event_kwargs(request))
            except DomainError as error:
                form.add_domain_error(error)
            else:
                return self._show_code(request, card, code, _("Code set"), self.balance_label(card))
        return self.page(
            request,
            "panel/gift_cards/form.html",
            _("Set code"),
            original=card,
            form=form,
            balance=self.balance_label(card),
            button=_("Set code"),
        )

    @row_view("disable/", CHANGE, keyed=True)
    def disable_view(self, request: HttpRequest, card: GiftCard) -> HttpResponse:
        """Show the confirmation page. On POST, disable the card for good."""
        if request.method == "POST":
            try:
                gift_cards.disable_gift_card(card, **self.event_kwargs(request))
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
            else:
                self.message_user(request, _("The gift card was disabled."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", card.pk))
        return self.page(
            request,
            "panel/gift_cards/disable.html",
            _("Disable gift card"),
            original=card,
            balance=self.balance_label(card),
        )


def _format_time(moment: datetime | None) -> str:
    return formats.format_date(moment, "j M Y, H:i") if moment else ""
