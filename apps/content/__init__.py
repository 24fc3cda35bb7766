"""Content: what shops show on their pages."""
