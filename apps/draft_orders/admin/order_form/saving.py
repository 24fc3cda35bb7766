"""Save the page that creates an order, and complete the draft order if the step says so."""

from django.db import transaction

from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT
from apps.core.admin.staff_request import EventKwargs
from apps.core.exceptions import DomainError
from apps.customers.domain.customers import create_customer
from apps.draft_orders.admin.order_form.gift_card import GiftCardEntry
from apps.draft_orders.admin.order_form.state import PageState
from apps.draft_orders.domain.completion import complete_draft_order
from apps.draft_orders.domain.draft_orders import create_draft_order, lock_draft_order, update_draft_order
from apps.draft_orders.models import DraftOrder
from apps.orders.domain.create.customers import get_or_create_customer

SAVE, SEND, PAID, PENDING = "save", "send", "paid", "pending"
STEPS = (SAVE, SEND, PAID, PENDING)
# The button that creates the order. The field ``payment`` contains the step: paid or pending.
CREATE = "create"


class DraftChanged(DomainError):
    """Raised when the draft order was changed in another tab."""

    status = 409


@transaction.atomic
def save_form(state: PageState, card: GiftCardEntry, step: str, by: EventKwargs) -> DraftOrder:
    """Save a valid form. The steps ``PAID`` and ``PENDING`` also create the order, and charge the gift card.

    Raises:
        DraftChanged: The draft order was changed after the form was opened.
        CardChanged: The balance of the gift card has changed.
        DomainError: The services refused the values.
    """
    values, draft = state.values, None
    if state.draft:
        draft = lock_draft_order(state.draft)
        if draft.version != state.form.cleaned_data["seen_version"]:
            raise DraftChanged(str(EDIT_CONFLICT))
    if contact := state.new_customer:
        customer = get_or_create_customer(state.build_contact_order(), contact, **by)
        # A draft order has no place for a phone number alone, which cannot create a customer, so this is an error.
        values["customer_id"] = (customer or create_customer(contact, **by)).pk
    lines = state.get_line_values(state.lines)
    draft = update_draft_order(draft, values, lines, **by) if draft else create_draft_order(values, lines or (), **by)
    if step in (PAID, PENDING):
        payments = card.build_payments(draft, at=by["at"])
        return complete_draft_order(draft, payments=payments, payment_pending=step == PENDING, **by)
    return draft
