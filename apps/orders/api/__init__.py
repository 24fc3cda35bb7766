"""REST interface of orders."""
