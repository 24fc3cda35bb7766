"""Send emails from a shop. All tasks that send emails use these functions."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from apps.core.i18n.error_messages import BLANK, INVALID, too_many
from apps.core.i18n.messages import define_message
from apps.core.jobs.queue import GiveUp
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors

MAX_BCC = 10

_IS_COPY = define_message(
    "emails.shop_is_copy", "Not sent: this shop is a copy of {shop}, and copies do not send emails."
)


def send_customer_email(address: str, subject: str, text: str) -> None:
    """Send an email to a customer of the current shop. The errors are the same as in ``send_email``."""
    shop = get_current_shop()
    subject = " ".join(subject.split())
    send_email(EmailMessage(subject=subject, body=text, from_email=shop.customer_email or shop.email, to=[address]))


def send_email(email: EmailMessage) -> None:
    """Send an email from the current shop.

    Raises:
        GiveUp: The shop is a copy of another shop and must not send emails to the original shop's customers.
    """
    if original := get_current_shop().copied_from:
        raise GiveUp(_IS_COPY(shop=original))
    email.send()


def find_message_errors(*, to: str, sender: str, subject: str, bcc: Sequence[str]) -> Errors:
    """Return the errors of an email that an app or a staff member writes, keyed by ``to``, ``from`` and so on."""
    errors: Errors = {}
    if not to:
        errors["to"] = [BLANK]
    for field, addresses in (("to", [to] if to else []), ("from", [sender]), ("bcc", bcc)):
        if not all(_is_email(address) for address in addresses):
            errors[field] = [INVALID]
    if len(bcc) > MAX_BCC:
        errors["bcc"] = [too_many("addresses", MAX_BCC)]
    if subject.splitlines() != [subject]:
        errors["subject"] = [INVALID]
    return errors


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 255
