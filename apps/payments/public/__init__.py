"""What everybody may read about a shop's payment handlers."""
