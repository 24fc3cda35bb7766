"""Export draft orders."""
