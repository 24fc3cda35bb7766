"""The REST interface of the inventory app."""
