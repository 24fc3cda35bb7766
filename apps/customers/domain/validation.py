"""What a customer's new values must be, checked before anything is written; every failing field at once.

REST, the panel and imports all pass through ``clean``; a value that is clean already passes unchanged.
Rule: decisions, Customers.
"""

from datetime import datetime

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.customers.domain import consents
from apps.customers.domain.addresses import clean_addresses
from apps.customers.domain.consents import Consent, consent_of
from apps.customers.domain.contacts import clean_contacts, email_key
from apps.customers.domain.known import has_email, has_phone
from apps.customers.models import EDITABLE, ConsentState, Customer, OptInLevel
from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, TAKEN, too_long
from apps.metafields.domain.setting import BadMetafields, Draft, check_many
from apps.shops.models import Shop

NAMELESS = gettext_noop("must have a name or email address")
TEXTS = tuple(
    name for name in EDITABLE if isinstance(Customer._meta.get_field(name), models.CharField | models.TextField)
)
MIN_PASSWORD, MAX_PASSWORD = 5, 72
MISMATCH = gettext_noop("doesn't match Password")
ACCOUNTS_OFF = gettext_noop("customer accounts are disabled")


class CustomerRefused(DomainError):
    """The values do not make a customer."""

    code = "customer_refused"
    field = "customer"


def clean(attrs: Given, *, customer: Customer | None, shop: Shop, at: datetime) -> tuple[Attrs, Errors]:
    """The values as they are stored, and what is wrong with them.

    Args:
        attrs: Columns of ``Customer``; ``metafields`` and ``addresses`` (lists of mappings; an address may have the
            ``id`` of one that the customer has), ``email_marketing_consent`` and ``sms_marketing_consent`` (parts of
            ``Consent``), ``accepts_marketing`` with its moment and level; on a create also ``password``,
            ``password_confirmation``, ``send_email_invite`` and ``send_email_welcome``.
        customer: Who is changed; None for a create.
        shop: Whose customer it is.
        at: The moment of the request.

    Returns:
        The clean values, and ``{field: [messages]}``.
    """
    cleaned = {name: value for name, value in attrs.items() if not (name in TEXTS and value is None)}
    cleaned |= {name: "" for name in TEXTS if name in attrs and attrs[name] is None}
    errors: Errors = clean_contacts(cleaned, shop.country_code)
    _require_name(cleaned, errors, customer)
    _clean_consents(cleaned, errors, customer, at)
    _clean_metafields(cleaned, errors)
    if customer is None:
        _clean_password(cleaned, errors)
        cleaned.setdefault("addresses", None)
        if cleaned.get("send_email_invite") and not cleaned.get("password"):
            _check_invitable(cleaned, errors, shop)
    if "addresses" in cleaned:
        given = cleaned.pop("addresses")
        if customer is None or given is not None:
            cleaned["addresses"], wrong = clean_addresses(given or (), customer)
            errors |= wrong
    return cleaned, errors


def taken(values: Given, *, besides: Customer | None = None) -> Errors:
    """Which of a clean e-mail and phone are another customer's.

    The database refuses them whatever this says; but it names one of the two, and nobody wants to hear of the second
    only after the first is changed. So it is asked where a form is checked or a write was refused.

    Args:
        values: ``email`` and ``phone``, as far as they are given.
        besides: Who may have them.
    """
    others = Customer.objects.exclude(pk=besides.pk) if besides else Customer.objects.all()
    wanted = {
        "email": has_email(email_key(values.get("email") or "")),
        "phone": has_phone(values.get("phone") or ""),
    }
    return {field: [TAKEN] for field, same in wanted.items() if values.get(field) and others.filter(same).exists()}


def _require_name(cleaned: Attrs, errors: Errors, customer: Customer | None) -> None:
    """A name or an e-mail; a phone alone is not enough."""
    named = ("first_name", "last_name", "email")
    if customer is not None and not any(name in cleaned for name in named):
        return
    values = [cleaned.get(name, getattr(customer, name) if customer else "") for name in named]
    if not any(value.strip() for value in values) and "email" not in errors:
        errors["customer"] = [_(NAMELESS)]


def _clean_consents(cleaned: Attrs, errors: Errors, customer: Customer | None, at: datetime) -> None:
    _translate_old_fields(cleaned, customer)
    for channel, kind in consents.KINDS.items():
        given = cleaned.get(kind.field)
        if given is None:
            cleaned.pop(kind.field, None)
            continue
        contact = cleaned.get(kind.contact, getattr(customer, kind.contact) if customer else "")
        errors |= consents.check(
            channel,
            given,
            consent_of(customer, channel) if customer else Consent(),
            has_contact=bool(contact) or kind.contact in errors,
            creating=customer is None,
            at=at,
        )


def _translate_old_fields(cleaned: Attrs, customer: Customer | None) -> None:
    """``accepts_marketing`` and its companions say the same as the e-mail consent, which wins where both stand."""
    accepts = cleaned.pop("accepts_marketing", None)
    moment = cleaned.pop("accepts_marketing_updated_at", None)
    level = cleaned.pop("marketing_opt_in_level", None)
    if accepts is None or cleaned.get("email_marketing_consent") is not None:
        return
    present = customer.email_marketing_state if customer else ConsentState.NOT_SUBSCRIBED
    if accepts:
        state = ConsentState.SUBSCRIBED
    else:
        state = ConsentState.UNSUBSCRIBED if present == ConsentState.SUBSCRIBED else ConsentState(present)
    if customer is None and not accepts:
        return
    cleaned["email_marketing_consent"] = {
        "state": state,
        **({"opt_in_level": OptInLevel(level)} if level in OptInLevel.values else {}),
        **({"updated_at": moment} if moment else {}),
    }


def _clean_password(cleaned: Attrs, errors: Errors) -> None:
    password, confirmation = cleaned.get("password"), cleaned.pop("password_confirmation", None)
    if not password:
        cleaned.pop("password", None)
        if confirmation:
            errors["password_confirmation"] = [_(MISMATCH)]
        return
    errors |= password_errors(password, confirmation)


def password_errors(password: str, confirmation: str | None) -> Errors:
    """What is wrong with a new password; a confirmation counts where one is given."""
    errors: Errors = {}
    if len(password) < MIN_PASSWORD:
        errors["password"] = [_("is too short (minimum is {limit} characters)").format(limit=MIN_PASSWORD)]
    if len(password) > MAX_PASSWORD:
        errors["password"] = [too_long(MAX_PASSWORD)]
    if confirmation is not None and confirmation != password:
        errors["password_confirmation"] = [_(MISMATCH)]
    return errors


def _clean_metafields(cleaned: Attrs, errors: Errors) -> None:
    rows = cleaned.get("metafields")
    if isinstance(rows, list) and all(isinstance(row, Draft) for row in rows):
        return
    try:
        cleaned["metafields"] = check_many(rows)
    except BadMetafields as refused:
        errors |= refused.errors


def _check_invitable(cleaned: Attrs, errors: Errors, shop: Shop) -> None:
    if shop.customer_accounts == Shop.CustomerAccounts.DISABLED:
        errors["send_email_invite"] = [_(ACCOUNTS_OFF)]
    elif not cleaned.get("email") and "email" not in errors:
        errors["email"] = [BLANK]
