"""The tables of staff."""

from apps.staff.models.memberships import Membership
from apps.staff.models.saved_views import SavedView
from apps.staff.models.sent_forms import SentForm
from apps.staff.models.users import User, UserManager

__all__ = ["Membership", "SavedView", "SentForm", "User", "UserManager"]
