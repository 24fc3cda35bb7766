"""The dispatcher: an event loop with concurrency slots per endpoint, and threads for the database."""
