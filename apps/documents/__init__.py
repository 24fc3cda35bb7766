"""Invoices, credit notes, packing slips and return slips as PDF documents.

An invoice or credit note is issued once: a row of ``IssuedDocument`` has its number and a snapshot of all that it
shows, and never changes. Numbers have no gaps within a shop, kind and year. Packing slips and return slips have neither
number nor snapshot and are written from the current data.
"""
