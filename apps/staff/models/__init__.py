"""Models for staff."""

from apps.core.tenancy.models.memberships import Membership
from apps.core.tenancy.models.panel import ListColumns, SavedView, SentForm
from apps.core.tenancy.models.users import User, UserManager

__all__ = ["ListColumns", "Membership", "SavedView", "SentForm", "User", "UserManager"]
