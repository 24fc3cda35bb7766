"""Models for staff."""

from apps.staff.models.list_columns import ListColumns
from apps.staff.models.memberships import Membership
from apps.staff.models.saved_views import SavedView
from apps.staff.models.sent_forms import SentForm
from apps.staff.models.users import User, UserManager

__all__ = ["ListColumns", "Membership", "SavedView", "SentForm", "User", "UserManager"]
