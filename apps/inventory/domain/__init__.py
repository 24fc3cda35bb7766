"""The workflows of inventory."""
