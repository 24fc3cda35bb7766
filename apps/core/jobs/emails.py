"""Send emails from a shop. All tasks that send emails use these functions."""

from django.core.mail import EmailMessage

from apps.core.i18n.messages import define_message
from apps.core.jobs.queue import GiveUp
from apps.core.tenancy.scope import get_current_shop

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
