"""Send the code of a new gift card to the recipient by email, at once or later.

The code is not stored with the card. Until the email is sent, the arguments of the job contain the code, encrypted in
the same way as other secrets. Afterwards, the code is removed. If the email finally fails, the code stays in the failed
job, so that staff can retry the job until old jobs are deleted.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.utils import timezone

from apps.core.db.encrypted_fields import decrypt, encrypt
from apps.core.events.recording import record_event
from apps.core.i18n.error_messages import MUST_EXIST
from apps.core.i18n.messages import define_message, define_text
from apps.core.jobs.models import Job
from apps.core.jobs.queue import GiveUp, enqueue
from apps.core.registry import Registry
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.models import Customer
from apps.gift_cards.domain.gift_cards import GiftCardRefused, create_gift_card
from apps.gift_cards.models import GiftCard

SEND_TASK = "gift_cards.send_code"
SENT, NOT_SENT = "gift_cards/send", "gift_cards/send_failed"
# The maximum time between scheduling and sending an email.
MAX_DELAY = timedelta(days=90)
_NEEDS_ADDRESS = define_text("gift_cards.needs_address", "must be a customer with an email address")
_TOO_LATE = define_message("gift_cards.too_late", "must be within {days} days")
_AFTER_EXPIRY = define_text("gift_cards.after_expiry", "must not be after the expiry date")
_NO_ADDRESS = define_text("gift_cards.no_recipient", "The recipient has no email address")
_NOT_READABLE = define_text(
    "gift_cards.not_readable", "The code was encrypted with another secret key, so it cannot be sent"
)
# Functions that are called with the card's ID when the email with its code could finally not be sent.
failure_listeners = Registry[str, Callable[..., None]]("listeners for failed gift card emails")


@transaction.atomic
def issue_gift_card(attrs: ReadOnlyAttrs, *, app: App | None, actor: str, at: datetime) -> tuple[GiftCard, str]:
    """Create a card like ``create_gift_card``, and send the code to the customer ``recipient_id``, if there is one.

    The email has the ``message`` and is sent at ``send_at``, or at once if there is no later time.

    Raises:
        GiftCardRefused: A value is invalid, or the recipient has no email address. The card is not created.
    """
    recipient = _check_recipient(attrs)
    send_at = attrs.get("send_at")
    if recipient is None:
        attrs = {**attrs, "message": "", "send_at": None}
    elif send_at is not None:
        _check_send_time(send_at, attrs.get("expires_on"), at=at)
        attrs = {**attrs, "send_at": send_at if send_at > at else None}
    card, code = create_gift_card(attrs, app=app, actor=actor, at=at)
    if recipient is not None:
        enqueue(SEND_TASK, actor=actor, due_at=card.send_at, card_id=card.pk, sealed_code=encrypt(code))
    return card, code


def _check_recipient(attrs: ReadOnlyAttrs) -> Customer | None:
    if attrs.get("recipient_id") is None:
        return None
    recipient = Customer.objects.filter(pk=attrs["recipient_id"]).first()
    if recipient is None:
        raise GiftCardRefused(MUST_EXIST, field="recipient_id")
    if not recipient.email:
        raise GiftCardRefused(_NEEDS_ADDRESS, field="recipient_id")
    return recipient


def _check_send_time(send_at: datetime, expires_on: date | None, *, at: datetime) -> None:
    if send_at > at + MAX_DELAY:
        raise GiftCardRefused(_TOO_LATE(days=MAX_DELAY.days), field="send_on")
    if expires_on is not None and send_at.astimezone(get_current_shop().tzinfo).date() > expires_on:
        raise GiftCardRefused(_AFTER_EXPIRY, field="send_on")


def will_be_sent(card: GiftCard, *, at: datetime) -> bool:
    """Return True if the email with the code is scheduled for a later time."""
    return card.send_at is not None and card.send_at > at and card.disabled_at is None


def open_code(sealed_code: str) -> str:
    try:
        return decrypt(sealed_code)
    except InvalidToken:
        raise GiveUp(_NOT_READABLE) from None


def get_address(card: GiftCard) -> str:
    """Return the current email address of the card's recipient."""
    if card.recipient is None or not card.recipient.email:
        raise GiveUp(_NO_ADDRESS)
    return card.recipient.email


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
