"""Public views for the content app."""
