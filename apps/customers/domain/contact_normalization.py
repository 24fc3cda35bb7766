"""Normalize email addresses and phone numbers, so that different spellings compare equal."""

import re
import unicodedata

import phonenumbers
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from apps.core.db.case_folding import MAX_EMAIL_KEY, build_email_key
from apps.core.i18n.error_messages import INVALID
from apps.core.types import Attrs, Errors

_is_email = EmailValidator()
_MAX_EMAIL = 255
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


def normalize_phone(text: str, *country_codes: str) -> str:
    """Return a phone number as E.164. A number without a country prefix belongs to the first country that it fits.

    The length of the number must be valid in the country. The number need not be assigned, because numbering plans
    change faster than the library. For any other text, ``InvalidContact`` is raised.
    """
    if len(text) > _MAX_TYPED_PHONE or not re.search(r"\d", text):
        raise InvalidContact(text)
    for country_code in dict.fromkeys(filter(None, country_codes)):
        try:
            number = phonenumbers.parse(text, country_code)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_possible_number(number):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    raise InvalidContact(text)


def clean_contacts(values: Attrs, *country_codes: str) -> Errors:
    """Normalize ``email`` and ``phone`` in place and return the errors.

    The country codes are those of ``normalize_phone``: the country of the address, and the country of the shop.
    """
    errors: Errors = {}

    def normalize_own_phone(text: str) -> str:
        return normalize_phone(text, *country_codes)

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
