"""Draft orders: quotes that staff and apps prepare, send as invoices and complete as orders."""
