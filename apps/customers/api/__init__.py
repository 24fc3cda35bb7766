"""REST API for customers."""
