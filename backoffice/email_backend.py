"""Email backend for installations without ``EMAIL_URL``, which prints emails in the demo and fails elsewhere.

Other installations must not print emails, because logs would then contain valid links, for example to set a password.
"""

from collections.abc import Sequence

from django.conf import settings
from django.core.mail.backends.console import EmailBackend
from django.core.mail.message import EmailMessage


class MailNotConfigured(OSError):
    """Raised when no mail server is configured. Jobs retry, and the panel shows the message."""


def is_demo() -> bool:
    """Return True if this installation uses SQLite and has the password file that ``manage.py demo`` writes."""
    on_file = settings.DATABASES["default"]["ENGINE"] == "backoffice.sqlite"
    return bool(on_file and (settings.DATA_DIR / "demo-password").exists())


class DemoEmailBackend(EmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        if not email_messages:
            return 0
        if not is_demo():
            if self.fail_silently:
                return 0
            raise MailNotConfigured("Email can't be sent: set EMAIL_URL.")
        self.stream.write("Demo: emails are printed here, including their links. Set EMAIL_URL to send them.\n")
        return int(super().send_messages(email_messages) or 0)
