"""The invitation email with a link for choosing a password."""

import logging
from smtplib import SMTPException

from allauth.account.forms import ResetPasswordForm
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.core.admin.reverse import use_global_urls
from apps.core.tenancy.models import User

logger = logging.getLogger(__name__)


def send_invitation(request: HttpRequest, user: User) -> None:
    """Send the invitation, unless the user has a password and can log in as usual. Show mail errors as a message."""
    if user.has_usable_password():
        return
    # The email links to a page outside of all shops, so the URL must not contain a shop.
    with use_global_urls():
        form = ResetPasswordForm({"email": user.email})
        if not form.is_valid():
            return
        try:
            form.save(request)
        except (OSError, SMTPException):
            logger.exception("Could not send the invitation for user %d.", user.pk)
            messages.warning(
                request, _("The email could not be sent. Try again later with “Send the invitation again”.")
            )
