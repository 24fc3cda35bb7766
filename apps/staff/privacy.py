"""Declare which columns of the staff and authentication apps never contain customers' personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "staff.User": ("password", "email", "first_name", "last_name", "phone", "url", "bio", "locale", "language"),
    "staff.Membership": ("permissions", "view_only"),
    "staff.SavedView": ("screen",),
    "staff.ListColumns": ("screen", "columns"),
    "staff.SentForm": ("key", "fingerprint", "result"),
    "admin.LogEntry": ("object_id", "object_repr", "change_message"),
    "auth.Permission": ("name", "codename"),
    "auth.Group": ("name",),
    "contenttypes.ContentType": ("app_label", "model"),
    "sessions.Session": ("session_key", "session_data"),
    "account.EmailAddress": ("email",),
    "account.EmailConfirmation": ("key",),
    "mfa.Authenticator": ("data",),
    "usersessions.UserSession": ("ip", "session_key", "user_agent", "data"),
}
