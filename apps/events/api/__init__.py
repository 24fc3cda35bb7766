"""REST API for events."""
