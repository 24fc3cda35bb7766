"""REST interface of customers."""
