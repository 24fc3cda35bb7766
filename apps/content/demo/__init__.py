"""Demo data for the content app."""
