"""Customers of a shop: contact details, addresses, consents, accounts and personal data."""
