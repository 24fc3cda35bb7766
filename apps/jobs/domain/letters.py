"""What a shop writes to people: the task of each mail sends it here."""

from django.core.mail import EmailMessage

from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import GiveUp


def write(address: str, subject: str, text: str) -> None:
    """Write to a customer of the current shop.

    Raises:
        GiveUp: The shop is a copy.
    """
    shop = current_shop()
    subject = " ".join(subject.split())
    send(EmailMessage(subject=subject, body=text, from_email=shop.customer_email or shop.email, to=[address]))


def send(letter: EmailMessage) -> None:
    """Send a mail of the current shop.

    Raises:
        GiveUp: The shop is a copy of another, whose customers it must not write to.
    """
    if original := current_shop().copied_from:
        raise GiveUp(f"Not sent: this shop is a copy of {original}, and a copy writes to nobody.")
    letter.send()
