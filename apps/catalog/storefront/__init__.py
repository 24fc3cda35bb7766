"""Public views for the catalog."""
