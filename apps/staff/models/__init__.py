from apps.core.tenancy.models import ListColumns, Membership, SavedView, SentForm, User

__all__ = ["ListColumns", "Membership", "SavedView", "SentForm", "User"]
