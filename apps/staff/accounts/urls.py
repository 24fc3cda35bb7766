"""The account pages: of allauth's only those that staff need."""

from allauth.account import views as account
from allauth.mfa.base import views as factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from django.urls import path, re_path

from apps.staff.accounts import views as own

urlpatterns = [
    path("login/", own.LoginView.as_view(), name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("profile/", own.profile, name="profile"),
    path("sessions/end-others/", own.end_others, name="sessions_end_others"),
    path("sessions/<int:pk>/end/", own.end_session, name="sessions_end"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("password/set/", account.password_set, name="account_set_password"),
    path("password/reset/", account.password_reset, name="account_reset_password"),
    path("password/reset/done/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("password/reset/key/done/", account.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    path("2fa/", factor.index, name="mfa_index"),
    path("2fa/authenticate/", factor.authenticate, name="mfa_authenticate"),
    path("2fa/reauthenticate/", factor.reauthenticate, name="mfa_reauthenticate"),
    path("2fa/totp/activate/", own.ActivateTOTPView.as_view(), name="mfa_activate_totp"),
    path("2fa/totp/deactivate/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("2fa/recovery-codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("2fa/recovery-codes/generate/", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("2fa/recovery-codes/download/", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
]
