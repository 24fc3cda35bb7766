"""What can be imported and exported."""
