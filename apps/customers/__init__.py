"""A shop's customers: contact details, addresses, consents, accounts and personal data."""
