"""Signed tokens for links that are sent to customers. A token is valid for one purpose and one customer.

A token is a nonce and its signature. The nonce is also stored with the customer, so that a used or replaced link is
invalid. The signature rejects a forged link before the nonce is compared.
"""

import base64
import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import hashers
from django.db import transaction
from django.db.models import F
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from apps.core.events.recording import EventInput, record_event, record_secondary_events
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.jobs.emails import find_message_errors
from apps.core.jobs.queue import enqueue
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.domain.validation import ACCOUNTS_OFF, validate_password
from apps.customers.models import Customer, Invitation

ACTIVATION = "activation"


def get_token_digest(token: str) -> str:
    """Return a digest that identifies a token's nonce without revealing it."""
    return hashlib.sha256(token.partition(".")[0].encode()).hexdigest()


def create_token(purpose: str, *, shop_id: int, customer_id: int, nonce: str) -> str:
    return f"{nonce}.{_signature(purpose, shop_id, customer_id, nonce)}"


def verify_token(purpose: str, token: str, *, shop_id: int, customer_id: int) -> str | None:
    """Return the nonce of a token, or None if the token is not valid for this purpose, shop and customer."""
    nonce, _, signature = token.partition(".")
    # Old keys are accepted too, so that links in sent emails still work after the secret key is rotated.
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    expected = [_signature(purpose, shop_id, customer_id, nonce, key) for key in keys]
    is_valid = any(constant_time_compare(signature.encode(), candidate.encode()) for candidate in expected)
    return nonce if is_valid and nonce else None


def _signature(purpose: str, shop_id: int, customer_id: int, nonce: str, key: str | None = None) -> str:
    salt, value = f"apps.customers.{purpose}", f"{shop_id}:{customer_id}:{nonce}"
    digest = salted_hmac(salt, value, secret=key, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


LINK_LIFETIME = timedelta(days=30)
State = Customer.State
ACTIVATABLE_STATES = (State.DISABLED, State.INVITED, State.DECLINED)


class AccountAlreadyActive(TransitionRefused):
    pass


class AccountsDisabled(DomainError):
    pass


class AccountNotActive(TransitionRefused):
    pass


class ActivationLinkInvalid(DomainError):
    """Raised when an activation link is wrong, used, replaced or expired. The message does not say which."""

    status = 410

    def __init__(self) -> None:
        super().__init__(_("This link is no longer valid."))


class PasswordRefused(DomainError):
    field = "password"


class InviteRefused(DomainError):
    field = "customer_invite"


@transaction.atomic
def create_activation_url(customer: Customer, *, actor: str, at: datetime) -> str:
    """Create an activation link that is valid for 30 days. Earlier links stop working."""
    nonce = _renew_nonce(customer, at=at)
    record_event("customers/activation_url", customer, actor=actor, at=at)
    return build_activation_url(customer, nonce)


def build_activation_url(customer: Customer, nonce: str) -> str:
    token = create_token(ACTIVATION, shop_id=customer.shop_id, customer_id=customer.pk, nonce=nonce)
    return f"{settings.BASE_URL}/account/activate/{get_current_shop().handle}/{customer.pk}/{token}"


def _renew_nonce(customer: Customer, *, at: datetime, **columns: object) -> str:
    if get_current_shop().customer_accounts == Shop.CustomerAccounts.DISABLED:
        raise AccountsDisabled(ACCOUNTS_OFF)
    nonce = secrets.token_urlsafe(24)
    if not columns:
        # The API does not return the link, so there is nothing to tell to apps.
        columns = {"updated_at": F("updated_at")}
    updated = Customer.objects.filter(pk=customer.pk, state__in=ACTIVATABLE_STATES).update(
        activation_nonce=nonce, activation_expires_at=at + LINK_LIFETIME, **columns
    )
    if not updated:
        raise AccountAlreadyActive(_("account already enabled"))
    customer.refresh_from_db()
    return nonce


@transaction.atomic
def send_invite(customer: Customer, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> Invitation:
    """Invite a customer to activate the account. A worker sends the email.

    ``values`` are ``to``, ``from``, ``subject``, ``custom_message`` and ``bcc``. Missing values get defaults.
    """
    shop = get_current_shop()
    invitation = Invitation(
        shop=shop,
        customer=customer,
        to_address=values.get("to") or customer.email,
        from_address=values.get("from") or shop.customer_email or shop.email,
        subject=values.get("subject") or f"Activate your account at {shop.name}"[:255],
        custom_message=values.get("custom_message") or "",
        bcc=list(values.get("bcc") or ()),
        created_at=at,
    )
    errors = find_message_errors(
        to=invitation.to_address,
        sender=invitation.from_address,
        subject=invitation.subject,
        bcc=invitation.bcc,
    )
    if errors:
        raise InviteRefused(errors)
    invitation.nonce = _renew_nonce(customer, at=at, state=State.INVITED)
    invitation.save()
    record_event("customers/invite", customer, actor=actor, at=at)
    record_secondary_events([EventInput("customers/update", customer)], actor=actor, at=at)
    enqueue("customers.send_invitation", actor=actor, invitation_id=invitation.pk)
    return invitation


def get_customer_by_link(*, customer_id: int, token: str, at: datetime) -> Customer:
    """Return the customer that an activation link belongs to, or raise ``ActivationLinkInvalid``.

    The check takes the same time for a missing customer and a wrong token, so that the time does not reveal which
    customers exist.
    """
    nonce = verify_token(ACTIVATION, token, shop_id=get_current_shop().pk, customer_id=customer_id)
    customer: Customer | None = Customer.objects.filter(pk=customer_id).first()
    stored_nonce = customer.activation_nonce if customer else ""
    nonce_matches = constant_time_compare(stored_nonce, nonce or "-")
    if (
        customer is None
        or not nonce_matches
        or customer.state not in ACTIVATABLE_STATES
        or customer.activation_expires_at is None
        or customer.activation_expires_at <= at
        or get_current_shop().customer_accounts == Shop.CustomerAccounts.DISABLED
    ):
        raise ActivationLinkInvalid
    return customer


def activate_account(customer: Customer, *, password: str, confirmation: str, at: datetime) -> Customer:
    """Activate the account of the result of ``get_customer_by_link``. A link works only once, even concurrently."""
    if errors := validate_password(password, confirmation):
        raise PasswordRefused(errors)
    digest = hashers.make_password(password)
    with transaction.atomic():
        # Because of the condition on the nonce, only the first of two concurrent requests updates the row.
        updated = Customer.objects.filter(
            pk=customer.pk,
            activation_nonce=customer.activation_nonce,
            activation_expires_at__gt=at,
            state__in=ACTIVATABLE_STATES,
        ).update(state=State.ENABLED, password=digest, activation_nonce="", activation_expires_at=None)
        if not updated:
            raise ActivationLinkInvalid
        customer.refresh_from_db()
        actor = f"customer:{customer.pk}"
        record_event("customers/enable", customer, actor=actor, at=at)
        record_secondary_events([EventInput("customers/update", customer)], actor=actor, at=at)
    return customer


@transaction.atomic
def decline_invitation(customer: Customer, *, at: datetime) -> Customer:
    """Decline an invitation and invalidate its link."""
    updated = Customer.objects.filter(
        pk=customer.pk, activation_nonce=customer.activation_nonce, state=State.INVITED
    ).update(state=State.DECLINED, activation_nonce="", activation_expires_at=None)
    if not updated:
        raise ActivationLinkInvalid
    customer.refresh_from_db()
    record_event("customers/update", customer, actor=f"customer:{customer.pk}", at=at)
    return customer


def revoke_activation_link(customer: Customer) -> list[str]:
    """Invalidate an unused link after the email was changed. Return the changed columns, which the caller must save."""
    if not customer.activation_nonce:
        return []
    customer.activation_nonce, customer.activation_expires_at = "", None
    if customer.state != State.INVITED:
        return ["activation_nonce", "activation_expires_at"]
    customer.state = State.DISABLED
    return ["activation_nonce", "activation_expires_at", "state"]


@transaction.atomic
def disable_account(customer: Customer, *, actor: str, at: datetime) -> Customer:
    """Disable the account. The password and unused links stop working immediately."""
    updated = Customer.objects.filter(pk=customer.pk, state__in=(State.ENABLED, State.INVITED)).update(
        state=State.DISABLED, password="", activation_nonce="", activation_expires_at=None
    )
    if not updated:
        raise AccountNotActive(_("The customer has no account."))
    customer.refresh_from_db()
    record_event("customers/disable", customer, actor=actor, at=at)
    record_secondary_events([EventInput("customers/update", customer)], actor=actor, at=at)
    return customer
