"""The workflows of customers."""
