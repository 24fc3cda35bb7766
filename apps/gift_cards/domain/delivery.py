"""Send the code of a new gift card to the customer by email.

The code is not stored with the card. Until the email is sent, the arguments of the job contain the code, encrypted in
the same way as other secrets. Afterwards, the code is removed. If the email finally fails, the code stays in the failed
job, so that staff can retry the job until old jobs are deleted.
"""

from collections.abc import Callable
from datetime import datetime

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.utils import timezone

from apps.core.db.encrypted_fields import decrypt, encrypt
from apps.core.events.recording import record_event
from apps.core.i18n.messages import define_text
from apps.core.jobs.models import Job
from apps.core.jobs.queue import GiveUp, enqueue
from apps.core.registry import Registry
from apps.core.tenancy.models import App
from apps.core.types import ReadOnlyAttrs
from apps.gift_cards.domain.gift_cards import GiftCardRefused, create_gift_card
from apps.gift_cards.models import GiftCard

SEND_TASK = "gift_cards.send_code"
SENT, NOT_SENT = "gift_cards/send", "gift_cards/send_failed"
_NEEDS_CUSTOMER = define_text("gift_cards.needs_customer", "needs a customer with an email address")
_NO_ADDRESS = define_text("gift_cards.no_address", "The customer has no email address")
_NOT_READABLE = define_text(
    "gift_cards.not_readable", "The code was encrypted with another secret key, so it cannot be sent"
)
# Functions that are called with the card's ID when the email with its code could finally not be sent.
failure_listeners = Registry[str, Callable[..., None]]("listeners for failed gift card emails")


@transaction.atomic
def issue_gift_card(
    attrs: ReadOnlyAttrs, *, sends_email: bool, app: App | None, actor: str, at: datetime
) -> tuple[GiftCard, str]:
    """Create a card like ``create_gift_card``, and with ``sends_email`` send the code to the customer.

    Raises:
        GiftCardRefused: A value is invalid, or the email has no recipient. The card is not created.
    """
    card, code = create_gift_card(attrs, app=app, actor=actor, at=at)
    if sends_email:
        if card.customer is None or not card.customer.email:
            raise GiftCardRefused(_NEEDS_CUSTOMER, field="sends_email")
        enqueue(SEND_TASK, actor=actor, card_id=card.pk, sealed_code=encrypt(code))
    return card, code


def open_code(sealed_code: str) -> str:
    try:
        return decrypt(sealed_code)
    except InvalidToken:
        raise GiveUp(_NOT_READABLE) from None


def get_recipient(card: GiftCard) -> str:
    """Return the current email address of the card's customer."""
    if card.customer is None or not card.customer.email:
        raise GiveUp(_NO_ADDRESS)
    return card.customer.email


def discard_code(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(arguments={"card_id": job.arguments["card_id"]})


@transaction.atomic
def record_delivery(job: Job, card: GiftCard) -> None:
    """Remove the code from the job and record that the email was sent."""
    discard_code(job)
    record_event(SENT, card, actor=job.actor, at=timezone.now())


def record_failure(job: Job) -> None:
    """Record that the email was finally not sent, and tell staff."""
    card = GiftCard.objects.filter(pk=job.arguments["card_id"]).first()
    if card is None:
        return
    at = timezone.now()
    record_event(NOT_SENT, card, actor="system", at=at)
    for listener in failure_listeners.values():
        listener(card.pk, at=at)
