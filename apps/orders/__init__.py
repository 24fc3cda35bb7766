"""Orders: line items, customers, totals and payments."""
