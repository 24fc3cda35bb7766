"""The demo store's catalog: products with pictures, collections of both kinds, and stock at every location."""

from apps.catalog.demo.store import make

__all__ = ["make"]
