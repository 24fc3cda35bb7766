"""The workflows of the catalog."""
