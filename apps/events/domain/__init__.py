"""Recording and describing events."""
