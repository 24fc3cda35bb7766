"""The minimal cost of a response: no framework, prepared statements, the same bytes as the product's.

In floor A the database builds the JSON; in floor B every document is stored in a column.
"""
