"""The REST face of shops and installations."""
