"""Domain logic for staff: memberships, permissions and sessions."""
