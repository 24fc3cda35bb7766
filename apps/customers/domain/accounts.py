"""The customer's account: invited, activated with a password, declined, disabled; nothing else writes ``state``.

Rule: decisions, Customers (State, Invites).
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import hashers
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from apps.customers.domain.tokens import ACTIVATION, make_token, new_nonce, read_token
from apps.customers.domain.validation import ACCOUNTS_OFF, password_errors
from apps.customers.models import Customer, Invitation
from apps.events.domain.recording import record_event
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.phrases import BLANK, INVALID, too_many
from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import enqueue
from apps.shops.models import Shop

LIFETIME = timedelta(days=30)
State = Customer.State
MAY_ACTIVATE = (State.DISABLED, State.INVITED, State.DECLINED)
MAX_BCC = 10


class AlreadyEnabled(TransitionRefused):
    """The account is active."""

    code = "account_already_enabled"

    def __init__(self) -> None:
        """Say it in the interface's words."""
        super().__init__(_("account already enabled"))


class AccountsDisabled(DomainError):
    """The shop has no customer accounts."""

    code = "accounts_disabled"

    def __init__(self) -> None:
        """Say so."""
        super().__init__(_(ACCOUNTS_OFF))


class NotDisablable(TransitionRefused):
    """There is no account that could be disabled."""

    code = "account_not_active"


class LinkDead(DomainError):
    """The activation link is wrong, used, replaced or too old; which of them is not told."""

    code = "activation_link_dead"
    status = 410

    def __init__(self) -> None:
        """The same words for all reasons."""
        super().__init__(_("This link is no longer valid."))


class PasswordRefused(DomainError):
    """The password cannot be used."""

    code = "password_refused"
    field = "password"


class InviteRefused(DomainError):
    """The invitation cannot be sent so."""

    code = "invite_refused"
    field = "customer_invite"


@transaction.atomic
def make_activation_url(customer: Customer, *, actor: str, at: datetime) -> str:
    """Make the link with which a customer activates the account; it voids earlier ones and lives for 30 days.

    Raises:
        AccountsDisabled: The shop has no customer accounts.
        AlreadyEnabled: The account is active.
    """
    nonce = _renew_nonce(customer, at=at)
    record_event("customers/activation_url", customer, actor=actor, at=at)
    return activation_url(customer, nonce)


def activation_url(customer: Customer, nonce: str) -> str:
    """The address of the page on which a nonce activates the account."""
    token = make_token(ACTIVATION, shop_id=customer.shop_id, customer_id=customer.pk, nonce=nonce)
    return f"{settings.BASE_URL}/account/activate/{current_shop().handle}/{customer.pk}/{token}"


def _renew_nonce(customer: Customer, *, at: datetime, **columns: str) -> str:
    if current_shop().customer_accounts == Shop.CustomerAccounts.DISABLED:
        raise AccountsDisabled
    nonce = new_nonce()
    moved = Customer.objects.filter(pk=customer.pk, state__in=MAY_ACTIVATE).update(
        activation_nonce=nonce, activation_expires_at=at + LIFETIME, **columns
    )
    if not moved:
        raise AlreadyEnabled
    customer.refresh_from_db()
    return nonce


@transaction.atomic
def send_invite(customer: Customer, given: Given, *, actor: str, at: datetime) -> Invitation:
    """Invite a customer to activate the account; a worker sends the mail.

    Args:
        customer: Who.
        given: ``to``, ``from``, ``subject``, ``custom_message``, ``bcc``; what is missing is filled in.
        actor: Who invites.
        at: When.

    Raises:
        AccountsDisabled: The shop has no customer accounts.
        AlreadyEnabled: The account is active.
        InviteRefused: ``{field: [messages]}``.
    """
    shop = current_shop()
    invitation = Invitation(
        shop=shop,
        customer=customer,
        to_address=given.get("to") or customer.email,
        from_address=given.get("from") or shop.customer_email or shop.email,
        subject=given.get("subject") or f"Activate your account at {shop.name}"[:255],
        custom_message=given.get("custom_message") or "",
        bcc=list(given.get("bcc") or ()),
        created_at=at,
    )
    if errors := _wrong_in(invitation):
        raise InviteRefused(errors)
    invitation.nonce = _renew_nonce(customer, at=at, state=State.INVITED)
    invitation.save()
    record_event("customers/invite", customer, actor=actor, at=at)
    enqueue("customers.send_invite", actor=actor, invitation_id=invitation.pk)
    return invitation


def _wrong_in(invitation: Invitation) -> Errors:
    errors: Errors = {}
    if not invitation.to_address:
        errors["to"] = [BLANK]
    for field, addresses in (
        ("to", [invitation.to_address] if invitation.to_address else []),
        ("from", [invitation.from_address]),
        ("bcc", invitation.bcc),
    ):
        if not all(_is_email(address) for address in addresses):
            errors[field] = [INVALID]
    if len(invitation.bcc) > MAX_BCC:
        errors["bcc"] = [too_many("addresses", MAX_BCC)]
    if invitation.subject.splitlines() != [invitation.subject]:
        errors["subject"] = [INVALID]
    return errors


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 255


def customer_of_link(*, customer_id: int, token: str, at: datetime) -> Customer:
    """The customer whose account a link would activate.

    A missing customer and a wrong token cost the same: one signature, one query.

    Raises:
        LinkDead: It would not.
    """
    nonce = read_token(ACTIVATION, token, shop_id=current_shop().pk, customer_id=customer_id)
    customer: Customer | None = Customer.objects.filter(pk=customer_id).first()
    kept = customer.activation_nonce if customer else ""
    same = constant_time_compare(kept, nonce or "-")
    if (
        customer is None
        or not same
        or customer.state not in MAY_ACTIVATE
        or customer.activation_expires_at is None
        or customer.activation_expires_at <= at
        or current_shop().customer_accounts == Shop.CustomerAccounts.DISABLED
    ):
        raise LinkDead
    return customer


def activate(customer: Customer, *, password: str, confirmation: str, at: datetime) -> Customer:
    """Activate an account with the password that the customer chose; a link does so once.

    Args:
        customer: As ``customer_of_link`` gave it.
        password: The new password.
        confirmation: The same, typed again.
        at: When.

    Raises:
        PasswordRefused: ``{field: [messages]}``.
        LinkDead: The link was used or replaced meanwhile.
    """
    if errors := password_errors(password, confirmation):
        raise PasswordRefused(errors)
    digest = hashers.make_password(password)
    with transaction.atomic():
        # The nonce in the condition makes the link work once: of two requests at the same time one finds no row.
        moved = Customer.objects.filter(
            pk=customer.pk,
            activation_nonce=customer.activation_nonce,
            activation_expires_at__gt=at,
            state__in=MAY_ACTIVATE,
        ).update(state=State.ENABLED, password=digest, activation_nonce="", activation_expires_at=None)
        if not moved:
            raise LinkDead
        customer.refresh_from_db()
        record_event("customers/enable", customer, actor=f"customer:{customer.pk}", at=at)
    return customer


@transaction.atomic
def decline(customer: Customer, *, at: datetime) -> Customer:
    """Turn an invitation down; the link is dead afterwards.

    Raises:
        LinkDead: The link was used or replaced meanwhile, or nobody invited the customer.
    """
    moved = Customer.objects.filter(
        pk=customer.pk, activation_nonce=customer.activation_nonce, state=State.INVITED
    ).update(state=State.DECLINED, activation_nonce="", activation_expires_at=None)
    if not moved:
        raise LinkDead
    customer.refresh_from_db()
    record_event("customers/update", customer, actor=f"customer:{customer.pk}", at=at)
    return customer


def withdraw_link(customer: Customer) -> list[str]:
    """Void the open activation link, which went to an e-mail that is no longer the customer's; the caller saves.

    An invitation that was sent goes with it. Returns the columns that changed.
    """
    if not customer.activation_nonce:
        return []
    customer.activation_nonce, customer.activation_expires_at = "", None
    if customer.state != State.INVITED:
        return ["activation_nonce", "activation_expires_at"]
    customer.state = State.DISABLED
    return ["activation_nonce", "activation_expires_at", "state"]


@transaction.atomic
def disable(customer: Customer, *, actor: str, at: datetime) -> Customer:
    """Take a customer's account away: the password and open links are useless at once.

    Raises:
        NotDisablable: The customer has no account and no invitation.
    """
    moved = Customer.objects.filter(pk=customer.pk, state__in=(State.ENABLED, State.INVITED)).update(
        state=State.DISABLED, password="", activation_nonce="", activation_expires_at=None
    )
    if not moved:
        raise NotDisablable(_("The customer has no account."))
    customer.refresh_from_db()
    record_event("customers/disable", customer, actor=actor, at=at)
    return customer
