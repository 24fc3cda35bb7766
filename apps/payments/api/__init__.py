"""The REST face of payments."""
