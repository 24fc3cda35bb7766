"""The account pages: of allauth's only those that staff need.

Who is not in yet may open the way in: login, logout, a forgotten password, the code at the login, a passkey. Every
other page asks for what the panel asks for: the second factor where the person has one, and where the installation
requires one only the pages that set it up open without it.
"""

from collections.abc import Callable

from allauth.account import views as account
from allauth.mfa.base import views as factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.http import HttpResponseBase
from django.urls import URLPattern, path, re_path

from apps.panel.doors import full_staff_only, staff_only
from apps.staff.accounts import views as own

_View = Callable[..., HttpResponseBase]

_way_in = [
    path("login/", own.LoginView.as_view(), name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("password/reset/", own.PasswordResetView.as_view(), name="account_reset_password"),
    path("password/reset/done/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("password/reset/key/done/", account.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    path("2fa/authenticate/", factor.authenticate, name="mfa_authenticate"),
    path("2fa/webauthn/login/", webauthn.login_webauthn, name="mfa_login_webauthn"),
]


def _set_up(route: str, view: _View, name: str) -> URLPattern:
    """A page on the way to a second factor, which is open while one is still missing."""
    return path(route, staff_only(view), name=name)


def _own(route: str, view: _View, name: str) -> URLPattern:
    """A page of one's own account."""
    return path(route, full_staff_only(view), name=name)


urlpatterns = [
    *_way_in,
    _set_up("reauthenticate/", account.reauthenticate, "account_reauthenticate"),
    _set_up("2fa/", factor.index, "mfa_index"),
    _set_up("2fa/reauthenticate/", factor.reauthenticate, "mfa_reauthenticate"),
    _set_up("2fa/totp/activate/", own.ActivateTOTPView.as_view(), "mfa_activate_totp"),
    _set_up("2fa/webauthn/add/", own.AddWebAuthnView.as_view(), "mfa_add_webauthn"),
    _set_up("2fa/webauthn/reauthenticate/", webauthn.reauthenticate_webauthn, "mfa_reauthenticate_webauthn"),
    _own("profile/", own.profile, "profile"),
    _own("sessions/end-others/", own.end_others, "sessions_end_others"),
    _own("sessions/<int:pk>/end/", own.end_session, "sessions_end"),
    _own("password/change/", account.password_change, "account_change_password"),
    _own("password/set/", account.password_set, "account_set_password"),
    _own("2fa/totp/deactivate/", totp.deactivate_totp, "mfa_deactivate_totp"),
    _own("2fa/webauthn/", webauthn.list_webauthn, "mfa_list_webauthn"),
    _own("2fa/webauthn/keys/<int:pk>/edit/", webauthn.edit_webauthn, "mfa_edit_webauthn"),
    _own("2fa/webauthn/keys/<int:pk>/remove/", webauthn.remove_webauthn, "mfa_remove_webauthn"),
    _own("2fa/recovery-codes/", codes.view_recovery_codes, "mfa_view_recovery_codes"),
    _own("2fa/recovery-codes/generate/", codes.generate_recovery_codes, "mfa_generate_recovery_codes"),
    _own("2fa/recovery-codes/download/", codes.download_recovery_codes, "mfa_download_recovery_codes"),
]
