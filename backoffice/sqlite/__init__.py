"""Django's SQLite backend with a fair queue for the writers of all processes."""
