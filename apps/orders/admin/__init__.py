"""The staff face of orders."""

from apps.orders.admin import exchange, orders

__all__ = ["exchange", "orders"]
