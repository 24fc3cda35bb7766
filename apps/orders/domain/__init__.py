"""Domain logic of orders."""
