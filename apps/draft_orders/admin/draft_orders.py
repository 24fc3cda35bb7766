"""The pages of draft orders: the form that creates an order, the completed draft order and the invoice."""

from typing import cast

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import add_domain_errors, as_sentence, format_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.model_admin.registry import list_buttons
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.exceptions import DomainError
from apps.core.tenancy.permissions import allow, grants
from apps.customers.admin.forms import InviteForm
from apps.draft_orders.admin.changelist import DraftOrderList
from apps.draft_orders.admin.display import (
    describe_facts,
    describe_lines,
    describe_totals,
    format_amount,
    get_timeline,
)
from apps.draft_orders.admin.order_form import gift_card
from apps.draft_orders.admin.order_form.base import parse_form_id
from apps.draft_orders.admin.order_form.form import get_empty_data, get_stored_data
from apps.draft_orders.admin.order_form.gift_card import GiftCardEntry
from apps.draft_orders.admin.order_form.saving import CREATE, PAID, PENDING, SAVE, SEND, STEPS, DraftChanged, save_form
from apps.draft_orders.admin.order_form.state import PageState
from apps.draft_orders.domain import draft_orders, invoices
from apps.draft_orders.domain.draft_orders import DraftCopy, DraftOrderCompleted
from apps.draft_orders.domain.edits import get_lines
from apps.draft_orders.models import DraftOrder
from apps.orders.models import Order
from apps.shops.domain.address_formats import format_address

VIEW, ADD, CHANGE = (f"draft_orders.{verb}_draftorder" for verb in ("view", "add", "change"))
# The buttons that change the form's values.
CHANGES = ("add", "remove", "custom", "choose", "unchoose", gift_card.REMOVE)
# The steps that look up what was typed into a search field, by field.
SEARCHES = {"code": "find", "term": "find_customer", gift_card.CODE: gift_card.STEP}
_CARD_NOT_SAVED = gettext_lazy(
    "The gift card was not charged and is not saved with the draft. Enter its code again when you create the order."
)
_NOT_ENTERED = gettext_lazy(
    "Nothing was saved yet, because a search field had text. Check the page, then try again, or clear the field."
)

grants.add(allow("draft_orders", "vacd", "draft_orders.draftorder", "draft_orders.draftorderline"))
list_buttons.register((DraftOrder, "create order"), "panel/draft_orders/create_button.html")


@admin.register(DraftOrder)
class DraftOrderAdmin(DraftOrderList):
    menu = MenuItem("Orders", "edit_note", 12, gettext_lazy("Drafts"))
    search_terms = pgettext_lazy(
        "search",
        "create order, new order, order by phone, phone order, telephone, manual order, draft, quote, offer, estimate",
    )
    add_title = gettext_lazy("Create order")
    show_add_link = False
    intro = gettext_lazy("Orders that you prepare for customers, for example on the phone.")
    empty_text = gettext_lazy("No drafts yet. Create an order and save it as a draft, or send it as an invoice.")

    def has_delete_permission(self, request: HttpRequest, obj: DraftOrder | None = None) -> bool:
        """Return False for completed draft orders, which explain their orders."""
        return not (obj and obj.is_completed) and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: DraftOrder) -> None:
        draft_orders.delete_draft_order(obj, **self.event_kwargs(request))

    # --- the form ---

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD)
        return self._edit(request, None)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """Show the form of an open draft order to staff who may change it. Otherwise, show the draft order."""
        require_permission(request, VIEW, CHANGE)
        draft = self.get_row_or_404(request, object_id)
        if request.method == "POST":
            require_permission(request, CHANGE)
        if not draft.is_completed and has_permission(request, CHANGE):
            return self._edit(request, draft)
        if request.method != "POST":
            return self._show(request, draft)
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._discard(request, draft)))

    def _discard(self, request: HttpRequest, draft: DraftOrder) -> HttpResponse:
        text = _("Your input was not saved, because {name} is already completed.").format(name=draft)
        self.message_user(request, text, messages.WARNING)
        return self._show(request, draft)

    def _edit(self, request: HttpRequest, draft: DraftOrder | None) -> HttpResponse:
        if request.method != "POST":
            data = get_stored_data(draft, get_lines(draft)) if draft else get_empty_data()
            state = self._build_state(request, data, draft)
            customer_id = parse_form_id(request.GET.get("customer", ""))
            if draft is None and customer_id and state.customers.may_view:
                state.customers.choose(customer_id)
            return self._render_form(request, state, GiftCardEntry(request))
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._submit(request, draft)))

    def _build_state(
        self, request: HttpRequest, data: QueryDict, draft: DraftOrder | None, *, is_saving: bool = False
    ) -> PageState:
        may_view_customers = has_permission(request, "customers.view_customer")
        return PageState(data, draft, may_view_customers=may_view_customers, is_saving=is_saving)

    def _submit(self, request: HttpRequest, draft: DraftOrder | None) -> HttpResponse:
        data, is_part = request.POST, "part" in request.POST
        step = data.get("step", "" if any(name in data for name in CHANGES) else SAVE)
        if step == CREATE:
            step = PENDING if data.get("payment") == PENDING else PAID
        is_saving = step in STEPS and not is_part
        state, card = self._build_state(request, data, draft, is_saving=is_saving), GiftCardEntry.load(request, data)
        # A text that was typed but not entered may be a product, customer or gift card that would be missing.
        not_entered = next((name for name in SEARCHES if data.get(name, "").strip()), "") if is_saving else ""
        if not_entered:
            state = self._build_state(request, data, draft)
            step = state.data["step"] = SEARCHES[not_entered]
            self.message_user(request, _NOT_ENTERED, messages.WARNING)
            is_saving = False
        if not is_saving:
            state.run_step()
            if step == gift_card.STEP or (
                step == "find" and card.code and not (state.items.term or state.customers.term)
            ):
                state.current = gift_card.CodeSteps(data)
                card.check_code(at=timezone.now())
        elif card.errors:
            state.errors += card.errors
        elif state.is_valid:
            try:
                saved = save_form(state, card, step, self.event_kwargs(request))
                return self._redirect(request, saved, card, step)
            except DomainError as error:
                state.add_error(error, state.lines)
                card.reload(at=timezone.now())
                if isinstance(error, DraftChanged) and draft:
                    # Saving again overwrites the other changes.
                    state.data["seen_version"] = str(draft.version)
        return self._render_form(request, state, card, is_part=is_part)

    def _redirect(self, request: HttpRequest, draft: DraftOrder, card: GiftCardEntry, step: str) -> HttpResponse:
        """Open the next page after a step that saved the form."""
        if draft.order:
            text = _("Order {order} was created from draft {name}.").format(order=draft.order, name=draft)
            url = self._get_order_url(request, draft)
        else:
            text = _("Draft {name} saved.").format(name=draft)
            url = self.url("invoice" if step == SEND else "change", draft.pk)
        self.message_user(request, text, messages.SUCCESS)
        if card.entered and not draft.order:
            self.message_user(request, _CARD_NOT_SAVED, messages.WARNING)
        return HttpResponseRedirect(url)

    def _get_order_url(self, request: HttpRequest, draft: DraftOrder) -> str:
        """Return the page of the order, or of the draft order if the user may not open orders."""
        if draft.order_id and has_permission(request, "orders.view_order"):
            return reverse("admin:orders_order_change", args=[draft.order_id])
        return self.url("change", draft.pk)

    def _render_form(
        self, request: HttpRequest, state: PageState, card: GiftCardEntry, *, is_part: bool = False
    ) -> HttpResponse:
        draft = state.draft
        state.calculate(at=timezone.now())
        preview = state.preview[0] if state.preview else None
        context = {
            "state": state,
            "form": state.form,
            "original": draft,
            "currency": self.shop(request).currency,
            "totals": describe_totals(preview) if preview else [],
            "total": format_amount(preview, preview.total_price) if preview else "",
            "gift_card": card,
            "card_payment": card.describe_payment(preview) if preview else [],
            "address": format_address(state.form.cleaned_data.get("shipping_address") or {}),
        }
        if is_part:
            return render(request, "panel/draft_orders/form_parts.html", context | {"is_part": True})
        title = _("Draft {name}").format(name=draft) if draft else _("Create order")
        context |= self._get_draft_context(request, draft) if draft else self.show_under(request, Order)
        return self.page(request, "panel/draft_orders/form.html", title, **context)

    # --- other pages ---

    def _show(self, request: HttpRequest, draft: DraftOrder) -> HttpResponse:
        context = self._get_draft_context(request, draft) | {
            "lines": describe_lines(draft, get_lines(draft)),
            "totals": describe_totals(draft),
            "facts": describe_facts(draft),
        }
        return self.page(request, "panel/draft_orders/draft.html", _("Draft {name}").format(name=draft), **context)

    def _get_draft_context(self, request: HttpRequest, draft: DraftOrder) -> Context:
        order_url = self._get_order_url(request, draft) if draft.order_id else ""
        may_open = has_permission(request, "orders.view_order")
        return {
            "original": draft,
            "stored_total": format_amount(draft, draft.total_price),
            "order_url": order_url,
            "buyer": self.buyer(draft),
            "timeline": get_timeline(draft, order_url=order_url if may_open else ""),
            "may_add": has_permission(request, ADD),
            "may_delete": self.has_delete_permission(request, draft),
        }

    @row_view("invoice/", CHANGE, keyed=True)
    def invoice_view(self, request: HttpRequest, draft: DraftOrder) -> HttpResponse:
        """Show the form of the email with the invoice, and send the email."""
        initial = {"to": draft.recipient, "subject": invoices.get_default_subject(draft)}
        form = InviteForm(get_post_data(request), initial=initial)
        form.fields["custom_message"].help_text = _(
            "The email has a link to the invoice about {total}. You can send the invoice again after changes."
        ).format(total=format_amount(draft, draft.total_price))
        if request.method == "POST" and form.is_valid():
            try:
                invoices.send_invoice(draft, form.cleaned_data, **self.event_kwargs(request))
            except DraftOrderCompleted as error:
                self.message_user(request, format_errors(error), messages.ERROR)
                return HttpResponseRedirect(self.url("change", draft.pk))
            except DomainError as error:
                add_domain_errors(form, error)
            else:
                text = _("Invoice sent to {address}.").format(address=form.cleaned_data["to"])
                self.message_user(request, text, messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", draft.pk))
        for field in form.fields.values():
            field.widget.attrs["class"] = "bo-input"
        title = _("Send invoice {name}").format(name=draft)
        return self.page(request, "panel/orders/form.html", title, original=draft, form=form, button=_("Send invoice"))

    @row_view("duplicate/", ADD, post_only=True, keyed=True)
    def duplicate_view(self, request: HttpRequest, draft: DraftOrder) -> HttpResponse:
        """Create a copy, without the customer if the form asks for another customer."""
        try:
            copy = draft_orders.duplicate_draft_order(
                draft, for_another_customer="for_another" in request.POST, **self.event_kwargs(request)
            )
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
            return HttpResponseRedirect(self.url("change", draft.pk))
        return self._open_copy(request, copy, _("{name} was duplicated. You are now editing the copy."), str(draft))

    @extra_view("from/<int:order_id>/", "orders.view_order", name="from_order", keyed=True)
    def from_order_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Create a draft order with the items of an order that the user may view."""
        order = get_object_or_404(Order.objects.all(), pk=order_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        require_permission(request, ADD)
        try:
            copy = draft_orders.duplicate_order_as_draft(order, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:orders_order_change", args=[order.pk]))
        text = _("Order {name} was duplicated as a draft with current prices.")
        return self._open_copy(request, copy, text, order.name)

    def _open_copy(self, request: HttpRequest, copy: DraftCopy, text: str, name: str) -> HttpResponse:
        self.message_user(request, text.format(name=name), messages.SUCCESS)
        for note in copy.notes:
            self.message_user(request, as_sentence(note), messages.WARNING)
        return HttpResponseRedirect(self.url("change", copy.draft.pk))
