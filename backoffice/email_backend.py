"""Email backend for installations without ``EMAIL_URL``. The demo prints emails; other installations refuse to send.

Other installations must not print emails, because valid links, for example to set a password, would end up in logs.
"""

from collections.abc import Sequence

from django.conf import settings
from django.core.mail.backends.console import EmailBackend
from django.core.mail.message import EmailMessage

_DEMO_NOTICE = "Demo: emails are printed here, including their links. Set EMAIL_URL to send them.\n"
_NOT_SENT = "Email can't be sent: set EMAIL_URL."


class MailNotConfigured(OSError):
    """Raised when no mail server is configured. Jobs then retry, and the panel shows the message."""


def is_demo() -> bool:
    """Return True if ``manage.py demo`` created this installation on its own database.

    The command stores the demo's password in the data folder, which identifies the demo.
    """
    on_file = settings.DATABASES["default"]["ENGINE"] == "backoffice.sqlite"
    return bool(on_file and (settings.DATA_DIR / "demo-password").exists())


class DemoEmailBackend(EmailBackend):
    """An email backend that prints emails in the demo and refuses to send elsewhere."""

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
