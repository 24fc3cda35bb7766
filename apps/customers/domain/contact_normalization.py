"""Normalize email addresses and phone numbers, so that different spellings compare equal."""

import re
import unicodedata
from functools import partial

import phonenumbers
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.utils.encoding import punycode

from apps.core.i18n.error_messages import INVALID
from apps.core.types import Attrs, Errors

_is_email = EmailValidator()
_MAX_EMAIL = 255
# The key can be longer than the email address, because international domains are stored in ASCII.
MAX_EMAIL_KEY = 320
_MAX_TYPED_PHONE = 50


class InvalidContact(ValueError):
    pass


def normalize_email(text: str) -> str:
    """Return an email address in composed Unicode without surrounding spaces, or raise ``InvalidContact``."""
    email = unicodedata.normalize("NFC", text.strip())
    try:
        _is_email(email)
    except ValidationError:
        raise InvalidContact(text) from None
    if len(email) > _MAX_EMAIL or len(build_email_key(email)) > MAX_EMAIL_KEY:
        raise InvalidContact(text)
    return email


def build_email_key(email: str) -> str:
    """Return the key for comparing email addresses: lower case, with the domain in ASCII."""
    local, at, domain = email.rpartition("@")
    folded = unicodedata.normalize("NFC", local.casefold())
    try:
        return f"{folded}{at}{punycode(domain).lower()}"
    except UnicodeError:
        return f"{folded}{at}{domain.casefold()}"


def normalize_phone(text: str, country_code: str) -> str:
    """Return a phone number as E.164. ``country_code`` is assumed for a number without a country prefix.

    The length of the number must be valid in the country. The number need not be assigned, because numbering plans
    change faster than the library. For any other text, ``InvalidContact`` is raised.
    """
    if len(text) > _MAX_TYPED_PHONE or not re.search(r"\d", text):
        raise InvalidContact(text)
    try:
        number = phonenumbers.parse(text, country_code)
    except phonenumbers.NumberParseException:
        raise InvalidContact(text) from None
    if not phonenumbers.is_possible_number(number):
        raise InvalidContact(text)
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def clean_contacts(values: Attrs, country_code: str) -> Errors:
    """Normalize ``email`` and ``phone`` in place and return the errors."""
    errors: Errors = {}
    normalize_own_phone = partial(normalize_phone, country_code=country_code)
    for field, normalize in (("email", normalize_email), ("phone", normalize_own_phone)):
        try:
            if values.get(field):
                values[field] = normalize(values[field])
        except InvalidContact:
            errors[field] = [INVALID]
    return errors


def get_national_number(phone: str) -> str:
    """Return the digits of an E.164 number without the country prefix, or an empty string for any other text."""
    try:
        return phonenumbers.national_significant_number(phonenumbers.parse(phone, None)) if phone else ""
    except phonenumbers.NumberParseException:
        return ""
