"""The staff face of orders."""

from apps.exchange.admin import exchange
from apps.orders.admin import orders, sales

__all__ = ["exchange", "orders", "sales"]
