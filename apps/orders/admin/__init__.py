"""The staff face of orders."""

from apps.orders.admin import exchange, orders, sales

__all__ = ["exchange", "orders", "sales"]
