"""The least that an answer can cost: no framework, prepared statements, the same bytes as the product's.

Floor A lets the database build the JSON; floor B keeps every document ready in a column.
"""
