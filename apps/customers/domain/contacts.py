"""E-mail addresses and phone numbers in the one form by which two are equal.

Rule: decisions, Customers (unique ignoring case; phones as E.164).
"""

import re
import unicodedata

import phonenumbers
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.utils.encoding import punycode

from apps.ground.attrs import Attrs, Errors
from apps.ground.phrases import INVALID

_is_email = EmailValidator()
_MAX_EMAIL = 255
# The form by which addresses are compared is longer: an international domain is written in ASCII there.
MAX_EMAIL_KEY = 320
_MAX_TYPED_PHONE = 50


class NotAnEmail(ValueError):
    """The text is no e-mail address."""


class NotAPhone(ValueError):
    """The text is no phone number."""


def canonical_email(text: str) -> str:
    """An e-mail address as we keep it: composed Unicode, no blanks around it.

    Raises:
        NotAnEmail: It is none, or longer than 255 characters, or than a mail system takes its domain.
    """
    email = unicodedata.normalize("NFC", text.strip())
    try:
        _is_email(email)
    except ValidationError:
        raise NotAnEmail(text) from None
    if len(email) > _MAX_EMAIL or len(email_key(email)) > MAX_EMAIL_KEY:
        raise NotAnEmail(text)
    return email


def email_key(email: str) -> str:
    """What equal addresses have in common: lower case, and the domain as the mail system writes it."""
    local, at, domain = email.rpartition("@")
    folded = unicodedata.normalize("NFC", local.casefold())
    try:
        return f"{folded}{at}{punycode(domain).lower()}"
    except UnicodeError:
        return f"{folded}{at}{domain.casefold()}"


def canonical_phone(text: str, country_code: str) -> str:
    """A phone number as E.164.

    The number must have a possible length for its country; whether it is in use is not asked, because numbering plans
    change faster than software.

    Args:
        text: As people write it.
        country_code: Where a number without a country's prefix is from.

    Raises:
        NotAPhone: It is none.
    """
    if len(text) > _MAX_TYPED_PHONE or not re.search(r"\d", text):
        raise NotAPhone(text)
    try:
        number = phonenumbers.parse(text, country_code)
    except phonenumbers.NumberParseException:
        raise NotAPhone(text) from None
    if not phonenumbers.is_possible_number(number):
        raise NotAPhone(text)
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def clean_contacts(values: Attrs, country_code: str) -> Errors:
    """Bring ``email`` and ``phone`` among some values into the form in which they are kept; returns what is wrong."""
    errors = {}
    try:
        if values.get("email"):
            values["email"] = canonical_email(values["email"])
    except NotAnEmail:
        errors["email"] = [INVALID]
    try:
        if values.get("phone"):
            values["phone"] = canonical_phone(values["phone"], country_code)
    except NotAPhone:
        errors["phone"] = [INVALID]
    return errors


def national_number(phone: str) -> str:
    """The digits of an E.164 number without its country's prefix; blank for none."""
    try:
        return phonenumbers.national_significant_number(phonenumbers.parse(phone, None)) if phone else ""
    except phonenumbers.NumberParseException:
        return ""
