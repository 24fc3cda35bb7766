"""allauth messages that this project translates into formal German, because allauth's own translation is informal."""

from django.utils.translation import gettext_noop

ALLAUTH_MESSAGES = (
    gettext_noop("Are you sure you want to sign out?"),
    gettext_noop("Be patient, you are sending too many requests."),
    gettext_noop(
        "Forgotten your password? Enter your email address below, and we'll send you an email allowing you to reset it."
    ),
    gettext_noop("Please contact us if you have any trouble resetting your password."),
    gettext_noop("Please type your current password."),
    gettext_noop(
        "The password reset link was invalid, possibly because it has already been used.  Please request a <a"
        ' href="%(passwd_reset_url)s">new password reset</a>.'
    ),
    gettext_noop("Too many failed login attempts. Try again later."),
    gettext_noop(
        "We have sent you an email. If you have not received it please check your spam folder. Otherwise "
        "contact us if you do not receive it in a few minutes."
    ),
    gettext_noop("You are about to deactivate authenticator app based authentication. Are you sure?"),
    gettext_noop("You are about to generate a new set of recovery codes for your account."),
    gettext_noop("You are already logged in as %(user_display)s."),
    gettext_noop("You have signed out."),
    gettext_noop("You must type the same password each time."),
    gettext_noop("Your password has been changed."),
    gettext_noop("Your password is now changed."),
)
