"""Orders over REST."""
