"""Services of the content app."""
