"""Routes for the account pages. Only the allauth pages that staff need have a route.

The pages for login, logout, password reset, second factor and passkey login are public. All other pages have the
panel's access checks. Users who lack a required second factor can only open the pages that set up a second factor.
"""

from collections.abc import Callable

from allauth.account import views as account
from allauth.mfa.base import views as factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.http import HttpResponseBase
from django.urls import URLPattern, path, re_path

from apps.core.admin.decorators import staff_required, staff_with_required_factor
from apps.staff.accounts import views as own

_View = Callable[..., HttpResponseBase]


def _setup_route(route: str, view: _View, name: str) -> URLPattern:
    return path(route, staff_required(view), name=name)


def _account_route(route: str, view: _View, name: str) -> URLPattern:
    return path(route, staff_with_required_factor(view), name=name)


urlpatterns = [
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
    _setup_route("reauthenticate/", account.reauthenticate, "account_reauthenticate"),
    _setup_route("2fa/", factor.index, "mfa_index"),
    _setup_route("2fa/reauthenticate/", factor.reauthenticate, "mfa_reauthenticate"),
    _setup_route("2fa/totp/activate/", own.ActivateTOTPView.as_view(), "mfa_activate_totp"),
    _setup_route("2fa/webauthn/add/", own.AddWebAuthnView.as_view(), "mfa_add_webauthn"),
    _setup_route("2fa/webauthn/reauthenticate/", webauthn.reauthenticate_webauthn, "mfa_reauthenticate_webauthn"),
    _account_route("profile/", own.edit_profile, "profile"),
    _account_route("sessions/end-others/", own.end_other_sessions, "sessions_end_others"),
    _account_route("sessions/<int:pk>/end/", own.end_session, "sessions_end"),
    _account_route("password/change/", account.password_change, "account_change_password"),
    _account_route("password/set/", account.password_set, "account_set_password"),
    _account_route("2fa/totp/deactivate/", totp.deactivate_totp, "mfa_deactivate_totp"),
    _account_route("2fa/webauthn/", webauthn.list_webauthn, "mfa_list_webauthn"),
    _account_route("2fa/webauthn/keys/<int:pk>/edit/", webauthn.edit_webauthn, "mfa_edit_webauthn"),
    _account_route("2fa/webauthn/keys/<int:pk>/remove/", webauthn.remove_webauthn, "mfa_remove_webauthn"),
    _account_route("2fa/recovery-codes/", codes.view_recovery_codes, "mfa_view_recovery_codes"),
    _account_route("2fa/recovery-codes/generate/", codes.generate_recovery_codes, "mfa_generate_recovery_codes"),
    _account_route("2fa/recovery-codes/download/", codes.download_recovery_codes, "mfa_download_recovery_codes"),
]
