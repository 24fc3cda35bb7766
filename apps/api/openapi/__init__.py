"""The description of the interface."""
