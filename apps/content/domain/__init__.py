"""The workflows of content."""
