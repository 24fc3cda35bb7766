"""Django's SQLite, with writers that queue: who asked first writes first, whichever process asked."""
