"""The workflows of collections."""
