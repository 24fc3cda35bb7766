"""REST API for staff."""
