"""REST interface of payment handlers."""
