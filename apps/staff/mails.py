"""The mail that lets an invited person choose a password."""

import logging
from smtplib import SMTPException

from allauth.account.forms import ResetPasswordForm
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.panel.addresses import outside
from apps.staff.models import User

logger = logging.getLogger(__name__)


def send_invitation(request: HttpRequest, user: User) -> None:
    """Send the link for choosing a password, unless the person has one; a mail server that is away is said, not raised.

    Who has a password already logs in and finds the shop there.
    """
    if user.has_usable_password():
        return
    # The link lies outside of the panel.
    with outside():
        form = ResetPasswordForm({"email": user.email})
        if not form.is_valid():
            return
        try:
            form.save(request)
        except (OSError, SMTPException):
            logger.exception("The invitation of user %d could not be sent.", user.pk)
            messages.warning(request, _("The mail could not be sent. Try “Send the invitation again” later."))
