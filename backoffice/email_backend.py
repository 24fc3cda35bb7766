"""Email backend for installations without ``EMAIL_URL``: the demo prints emails, other installations refuse to send.

Emails contain valid links, for example to set a password. Printed emails would end up in the logs.
"""

from collections.abc import Sequence

from django.conf import settings
from django.core.mail.backends.console import EmailBackend
from django.core.mail.message import EmailMessage

_DEMO_NOTICE = "Demo: emails are printed here, including their links. Set EMAIL_URL to send them.\n"
_NOT_SENT = "Email can't be sent: set EMAIL_URL."


class MailNotConfigured(OSError):
    """Raised when no mail server is configured; jobs retry and show the message in the panel."""


def is_demo() -> bool:
    """Return True if ``manage.py demo`` created this installation on its own database.

    The command leaves its password in the data folder.
    """
    on_file = settings.DATABASES["default"]["ENGINE"] == "backoffice.sqlite"
    return bool(on_file and (settings.DATA_DIR / "demo-password").exists())


class DemoEmailBackend(EmailBackend):
    """Email backend that prints emails in the demo and refuses to send elsewhere."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Print the emails with a notice.

        Raises:
            MailNotConfigured: This is not the demo; nothing is printed.
        """
        if not email_messages:
            return 0
        if not is_demo():
            if self.fail_silently:
                return 0
            raise MailNotConfigured(_NOT_SENT)
        self.stream.write(_DEMO_NOTICE)
        return int(super().send_messages(email_messages) or 0)
