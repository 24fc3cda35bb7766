"""Staff pages of the panel."""

from apps.staff.admin.members import MembershipAdmin

__all__ = ["MembershipAdmin"]
