"""Management commands of the content app."""
