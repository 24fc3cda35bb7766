from apps.staff.admin.members import MembershipAdmin

__all__ = ["MembershipAdmin"]
