"""Management commands for the content app."""
