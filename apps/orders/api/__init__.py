"""REST API for orders."""
