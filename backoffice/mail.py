"""Mail where no server was named (``EMAIL_URL``): the demo prints it, everybody else is told that it is not sent.

Mails hold live links: with one that choose a password can be chosen. Printed, they would stand in the logs.
"""

from collections.abc import Sequence

from django.conf import settings
from django.core.mail.backends.console import EmailBackend
from django.core.mail.message import EmailMessage

_PRINTED = "This is the demo: mails are printed here, with their links, instead of being sent. EMAIL_URL sends them.\n"
_NOT_SENT = "No mail can be sent: EMAIL_URL is not set."


class MailNotConfigured(OSError):
    """There is nobody to take mails; jobs try again, and show this sentence in the panel."""


def is_demo() -> bool:
    """Whether this is what ``manage.py demo`` made on its own database: it left its password beside the data."""
    on_file = settings.DATABASES["default"]["ENGINE"] == "backoffice.sqlite"
    return bool(on_file and (settings.DATA_DIR / "demo-password").exists())


class NoServer(EmailBackend):
    """Prints mails in the demo, and refuses them elsewhere."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Print, with a sentence that says so.

        Raises:
            MailNotConfigured: This is not the demo; nothing is printed.
        """
        if not email_messages:
            return 0
        if not is_demo():
            if self.fail_silently:
                return 0
            raise MailNotConfigured(_NOT_SENT)
        self.stream.write(_PRINTED)
        return int(super().send_messages(email_messages) or 0)
