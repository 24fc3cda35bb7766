"""Management commands of the inventory app."""
