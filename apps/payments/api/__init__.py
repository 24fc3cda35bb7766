"""REST API for payment handlers."""
