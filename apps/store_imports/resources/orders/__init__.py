"""Import orders with their payments, refunds and fulfillments, and bring them up to date in later runs."""
