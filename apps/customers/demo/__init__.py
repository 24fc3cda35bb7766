"""Customers of the demo store."""
