"""Customers of the demo shop."""
