"""Export and erase the personal data of customers in gift cards.

Balances, amounts and the link to the customer's row are kept for bookkeeping. Notes and references are erased.
"""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from apps.core.events.redaction import redact_events
from apps.core.money import format_decimal
from apps.core.privacy import get_blank_values
from apps.customers.models import Customer
from apps.gift_cards.models import GiftCard, GiftCardAdjustment


def export_gift_cards(customer: Customer, after: int) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield a customer's gift cards with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    rows = get_customer_cards(customer.pk).filter(pk__gt=after).order_by("pk").prefetch_related("adjustments")
    for card in rows.iterator(chunk_size=500):
        adjustments = [
            {
                "amount": format_decimal(row.amount, card.currency),
                "created_at": row.created_at.isoformat(),
                "note": row.note,
                "reference": row.remote_transaction_ref,
                "url": row.remote_transaction_url,
            }
            for row in card.adjustments.all()
        ]
        received: dict[str, object] = {
            "last_characters": card.last_characters,
            "message": card.message,
            "send_at": card.send_at.isoformat() if card.send_at else None,
        }
        if _is_only_recipient(card, customer.pk):
            yield card.pk, received
            continue
        values: dict[str, object] = {
            **received,
            "balance": format_decimal(card.balance, card.currency),
            "currency": card.currency,
            "expires_on": card.expires_on.isoformat() if card.expires_on else None,
            "note": card.note,
            "adjustments": adjustments,
        }
        yield card.pk, values


def redact_gift_cards(customer: Customer, actor: str, at: datetime) -> None:
    """Erase the notes, messages and references of a locked customer's cards.

    The cards of other customers lose only the message to this customer.
    """
    cards = list(lock_customer_cards(customer.pk))
    received = [card.pk for card in cards if _is_only_recipient(card, customer.pk)]
    ids = [card.pk for card in cards if card.pk not in received]
    GiftCard.objects.filter(pk__in=received).update(message="")
    redact_events(GiftCard, received)
    GiftCard.objects.filter(pk__in=ids).update(**get_blank_values(GiftCard))
    GiftCardAdjustment.objects.filter(card__in=ids).update(**get_blank_values(GiftCardAdjustment))
    redact_events(GiftCard, ids)


def _is_only_recipient(card: GiftCard, customer_id: int) -> bool:
    """Return True if the card belongs to another customer."""
    return card.customer_id not in {None, customer_id}


def get_customer_cards(customer_id: int) -> QuerySet[GiftCard]:
    """Return the cards that belong to a customer, or that were sent to the customer."""
    return GiftCard.objects.filter(Q(customer_id=customer_id) | Q(recipient_id=customer_id))


def lock_customer_cards(customer_id: int) -> QuerySet[GiftCard]:
    return get_customer_cards(customer_id).select_for_update(no_key=True).order_by("pk")
