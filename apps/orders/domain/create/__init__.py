"""Create orders: drafts, line items, customers and numbers."""
