"""The workflows of webhooks."""
