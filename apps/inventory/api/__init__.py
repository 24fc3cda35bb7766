"""REST API for inventory."""
