"""Normalize email addresses and phone numbers, so that different spellings compare equal."""

import re
import unicodedata

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


class InvalidEmail(ValueError):
    """Raised when the text is not an email address."""


class InvalidPhone(ValueError):
    """Raised when the text is not a phone number."""


def normalize_email(text: str) -> str:
    """Return an email address as stored: composed Unicode without surrounding spaces.

    Raises:
        InvalidEmail: The text is not an email address, or the address or its domain is too long.
    """
    email = unicodedata.normalize("NFC", text.strip())
    try:
        _is_email(email)
    except ValidationError:
        raise InvalidEmail(text) from None
    if len(email) > _MAX_EMAIL or len(build_email_key(email)) > MAX_EMAIL_KEY:
        raise InvalidEmail(text)
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
    """Return a phone number as E.164.

    The length of the number must be valid in the country. The number need not be assigned, because numbering plans
    change faster than the library.

    Args:
        text: The number in any notation.
        country_code: The country to assume for a number without a country prefix.

    Raises:
        InvalidPhone: The text is not a phone number.
    """
    if len(text) > _MAX_TYPED_PHONE or not re.search(r"\d", text):
        raise InvalidPhone(text)
    try:
        number = phonenumbers.parse(text, country_code)
    except phonenumbers.NumberParseException:
        raise InvalidPhone(text) from None
    if not phonenumbers.is_possible_number(number):
        raise InvalidPhone(text)
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def clean_contacts(values: Attrs, country_code: str) -> Errors:
    """Normalize ``email`` and ``phone`` in place and return the errors."""
    errors: Errors = {}
    try:
        if values.get("email"):
            values["email"] = normalize_email(values["email"])
    except InvalidEmail:
        errors["email"] = [INVALID]
    try:
        if values.get("phone"):
            values["phone"] = normalize_phone(values["phone"], country_code)
    except InvalidPhone:
        errors["phone"] = [INVALID]
    return errors


def get_national_number(phone: str) -> str:
    """Return the digits of an E.164 number without the country prefix, or an empty string for any other text."""
    try:
        return phonenumbers.national_significant_number(phonenumbers.parse(phone, None)) if phone else ""
    except phonenumbers.NumberParseException:
        return ""
