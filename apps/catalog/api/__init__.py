"""REST API for the catalog."""
