from apps.staff.admin.members import MembershipAdmin
