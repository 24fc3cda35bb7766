"""Convert tables of other systems, in which a row is not what a row of our table is.

A format recognizes a table by its columns. ``conversion.convert_table`` then yields rows with our columns.
"""
