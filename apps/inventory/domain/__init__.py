"""Domain functions of the inventory app."""
