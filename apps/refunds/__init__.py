"""Refunds of items, shipping, duties and money."""
