"""Domain functions for customers."""
