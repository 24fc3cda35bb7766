"""The invitation email with a link for choosing a password."""

import logging
from smtplib import SMTPException

from allauth.account.forms import ResetPasswordForm
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.panel.reverse import use_global_urls
from apps.staff.models import User

logger = logging.getLogger(__name__)


def send_invitation(request: HttpRequest, user: User) -> None:
    """Send the invitation unless the user has a password. Mail server errors are shown and not raised.

    Users with a password log in as usual and find the new shop there.
    """
    if user.has_usable_password():
        return
    # The link in the email opens a page outside of all shops.
    with use_global_urls():
        form = ResetPasswordForm({"email": user.email})
        if not form.is_valid():
            return
        try:
            form.save(request)
        except (OSError, SMTPException):
            logger.exception("Could not send the invitation for user %d.", user.pk)
            messages.warning(request, _("The email could not be sent. Use “Send the invitation again” later."))
