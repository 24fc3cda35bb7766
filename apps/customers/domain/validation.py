"""Validate and normalize a customer's data before anything is saved. All errors are reported at once.

The REST API, the panel and imports call ``clean_customer``. Values that are already normalized do not change.
"""

from datetime import datetime

from django.db import models

from apps.core.db.case_folding import build_email_key
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, TAKEN, too_long, too_short
from apps.core.i18n.messages import define_text
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.domain import consents
from apps.customers.domain.addresses import clean_addresses
from apps.customers.domain.consents import Consent, get_consent
from apps.customers.domain.contact_normalization import clean_contacts
from apps.customers.domain.fields import EDITABLE_FIELDS
from apps.customers.domain.lookup import match_email, match_phone
from apps.customers.models import ConsentState, Customer, OptInLevel
from apps.metafields.domain.write import BadMetafields, MetafieldInput, validate_metafields
from apps.shops.domain.countries import get_country_code

NAME_REQUIRED = define_text("customers.name_required", "must have a name or email address")
TEXT_COLUMNS = tuple(
    name for name in EDITABLE_FIELDS if isinstance(Customer._meta.get_field(name), models.CharField | models.TextField)
)
MIN_PASSWORD, MAX_PASSWORD = 5, 72
PASSWORDS_DIFFER = define_text("customers.passwords_differ", "doesn't match Password")
ACCOUNTS_OFF = define_text("customers.accounts_off", "customer accounts are disabled")


class CustomerRefused(DomainError):
    field = "customer"


def clean_customer(
    attrs: ReadOnlyAttrs, *, customer: Customer | None, shop: Shop, at: datetime
) -> tuple[Attrs, Errors]:
    """Return the normalized values and the errors.

    Besides columns, ``attrs`` may have ``metafields``, ``addresses`` (mappings, which may have the ``id`` of an
    existing address), ``email_marketing_consent`` and ``sms_marketing_consent`` (each with fields of ``Consent``),
    ``accepts_marketing``, ``accepts_marketing_updated_at`` and ``marketing_opt_in_level``. A new customer (None) can
    also have ``password``, ``password_confirmation``, ``send_email_invite`` and ``send_email_welcome``.
    """
    cleaned = {name: value for name, value in attrs.items() if not (name in TEXT_COLUMNS and value is None)}
    cleaned |= {name: "" for name in TEXT_COLUMNS if name in attrs and attrs[name] is None}
    errors: Errors = clean_contacts(cleaned, _get_address_country(cleaned, customer), shop.country_code)
    _require_name(cleaned, errors, customer)
    _clean_consents(cleaned, errors, customer, at)
    _clean_metafields(cleaned, errors)
    if customer is None:
        _clean_password(cleaned, errors)
        cleaned.setdefault("addresses", None)
        if cleaned.get("send_email_invite") and not cleaned.get("password"):
            _check_invitable(cleaned, errors, shop)
    if "addresses" in cleaned:
        address_values = cleaned.pop("addresses")
        if customer is None or address_values is not None:
            cleaned["addresses"], address_errors = clean_addresses(address_values or (), customer)
            errors |= address_errors
    return cleaned, errors


def _get_address_country(values: ReadOnlyAttrs, customer: Customer | None) -> str:
    """Return the country of the given addresses or of the default address, in which a national phone number is read."""
    if not values.get("phone"):
        return ""
    given = (get_country_code(address) for address in values.get("addresses") or ())
    if code := next(filter(None, given), ""):
        return code
    return customer.default_address.country_code if customer and customer.default_address else ""


def find_taken_contacts(values: ReadOnlyAttrs, *, customer: Customer | None = None) -> Errors:
    """Return errors if another customer already has the normalized email or phone.

    The database enforces uniqueness, but reports only the first duplicate. Forms and failed requests call this function
    to report both duplicates at once.
    """
    others = Customer.objects.exclude(pk=customer.pk) if customer else Customer.objects.all()
    conditions = {
        "email": match_email(build_email_key(values.get("email") or "")),
        "phone": match_phone(values.get("phone") or ""),
    }
    return {
        field: [TAKEN]
        for field, condition in conditions.items()
        if values.get(field) and others.filter(condition).exists()
    }


def _require_name(cleaned: Attrs, errors: Errors, customer: Customer | None) -> None:
    """Require a name or an email. A phone alone is not enough."""
    names = ("first_name", "last_name", "email")
    if customer is not None and not any(name in cleaned for name in names):
        return
    values = [cleaned.get(name, getattr(customer, name) if customer else "") for name in names]
    if not any(value.strip() for value in values) and "email" not in errors:
        errors["customer"] = [NAME_REQUIRED]


def _clean_consents(cleaned: Attrs, errors: Errors, customer: Customer | None, at: datetime) -> None:
    _translate_legacy_fields(cleaned, customer)
    for channel, kind in consents.CHANNEL_DEFINITIONS.items():
        values = cleaned.get(kind.field)
        if values is None:
            cleaned.pop(kind.field, None)
            continue
        contact = cleaned.get(kind.contact, getattr(customer, kind.contact) if customer else "")
        errors |= consents.check_consent(
            channel,
            values,
            get_consent(customer, channel) if customer else Consent(),
            has_contact=bool(contact) or kind.contact in errors,
            creating=customer is None,
            at=at,
        )


def _translate_legacy_fields(cleaned: Attrs, customer: Customer | None) -> None:
    """Convert ``accepts_marketing`` and related fields, unless ``email_marketing_consent`` is given."""
    accepts = cleaned.pop("accepts_marketing", None)
    changed_at = cleaned.pop("accepts_marketing_updated_at", None)
    level = cleaned.pop("marketing_opt_in_level", None)
    if accepts is None or cleaned.get("email_marketing_consent") is not None:
        return
    current_state = customer.email_marketing_state if customer else ConsentState.NOT_SUBSCRIBED
    if accepts:
        state = ConsentState.SUBSCRIBED
    else:
        state = ConsentState.UNSUBSCRIBED if current_state == ConsentState.SUBSCRIBED else ConsentState(current_state)
    if customer is None and not accepts:
        return
    cleaned["email_marketing_consent"] = {
        "state": state,
        **({"opt_in_level": OptInLevel(level)} if level in OptInLevel.values else {}),
        **({"updated_at": changed_at} if changed_at else {}),
    }


def _clean_password(cleaned: Attrs, errors: Errors) -> None:
    password, confirmation = cleaned.get("password"), cleaned.pop("password_confirmation", None)
    if not password:
        cleaned.pop("password", None)
        if confirmation:
            errors["password_confirmation"] = [PASSWORDS_DIFFER]
        return
    errors |= validate_password(password, confirmation)


def validate_password(password: str, confirmation: str | None) -> Errors:
    """Return the errors of a new password. If ``confirmation`` is given, it must equal the password."""
    errors: Errors = {}
    if len(password) < MIN_PASSWORD:
        errors["password"] = [too_short(MIN_PASSWORD)]
    if len(password) > MAX_PASSWORD:
        errors["password"] = [too_long(MAX_PASSWORD)]
    if confirmation is not None and confirmation != password:
        errors["password_confirmation"] = [PASSWORDS_DIFFER]
    return errors


def _clean_metafields(cleaned: Attrs, errors: Errors) -> None:
    rows = cleaned.get("metafields")
    if isinstance(rows, list) and all(isinstance(row, MetafieldInput) for row in rows):
        return
    try:
        cleaned["metafields"] = validate_metafields(rows)
    except BadMetafields as error:
        errors |= error.errors


def _check_invitable(cleaned: Attrs, errors: Errors, shop: Shop) -> None:
    if shop.customer_accounts == Shop.CustomerAccounts.DISABLED:
        errors["send_email_invite"] = [ACCOUNTS_OFF]
    elif not cleaned.get("email") and "email" not in errors:
        errors["email"] = [BLANK]
