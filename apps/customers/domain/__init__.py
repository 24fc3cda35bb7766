"""Domain services of customers."""
