"""Django's SQLite backend with short waits for writers."""
