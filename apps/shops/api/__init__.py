"""REST API for shops and installations."""
