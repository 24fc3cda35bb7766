"""The staff of a shop in the panel."""

from apps.staff.admin.members import MembershipAdmin

__all__ = ["MembershipAdmin"]
