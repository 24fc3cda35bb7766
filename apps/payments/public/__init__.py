"""Public pages about a shop's payment handlers."""
