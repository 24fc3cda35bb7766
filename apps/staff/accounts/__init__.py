"""A person's own account: logging in, password, profile."""
