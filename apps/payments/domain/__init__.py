"""The workflows of payments."""
