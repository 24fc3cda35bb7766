"""Domain logic of staff: memberships, permissions and sessions."""
