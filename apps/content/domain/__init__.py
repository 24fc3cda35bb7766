"""Services for the content app."""
