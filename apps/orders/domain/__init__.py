"""Domain logic for orders."""
