"""The workflows of fulfillment."""
