"""Public views of the catalog."""
