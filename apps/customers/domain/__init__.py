"""Domain functions of customers."""
