"""Public account pages for customers."""
