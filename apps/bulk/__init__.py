"""Changing many rows at once."""
