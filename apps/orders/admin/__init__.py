"""The staff face of orders."""

from apps.orders.admin import orders, sales

__all__ = ["orders", "sales"]
