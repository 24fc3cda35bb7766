"""REST API for catalog."""
