"""The workflows of metafields."""
