"""Minimal servers for comparison. They use no framework, and return the product's response bytes.

In floor A, the database builds the JSON. In floor B, all documents are stored as JSON in a table.
"""
