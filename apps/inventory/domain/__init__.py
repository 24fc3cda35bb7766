"""Services of the inventory app."""
