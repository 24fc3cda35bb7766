"""Customers as staff see them."""

from apps.customers.admin.customers import CustomerAdmin

__all__ = ["CustomerAdmin"]
