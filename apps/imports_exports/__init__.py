"""Imports and exports of orders, products, customers, and the audit log."""
