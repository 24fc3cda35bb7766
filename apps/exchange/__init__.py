"""Customers and orders as files: exports, and imports that bring them from elsewhere."""
