"""Django's SQLite backend with a fair queue for writers of all processes."""
