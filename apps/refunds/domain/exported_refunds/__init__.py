"""Restore the refunds of orders that another shop exported."""
