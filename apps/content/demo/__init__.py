"""Demo data of the content app."""
