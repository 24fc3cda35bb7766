"""The dispatcher: an event loop that sends deliveries, with concurrency slots per endpoint and database threads."""
