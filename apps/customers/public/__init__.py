"""The pages of accounts for customers."""
