"""Public views of the content app."""
