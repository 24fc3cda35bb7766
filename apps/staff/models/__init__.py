"""The tables of staff."""

from apps.staff.models.staff import Membership, SavedView, User, UserManager

__all__ = ["Membership", "SavedView", "User", "UserManager"]
