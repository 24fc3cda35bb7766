"""Handle requests: authentication, rate limits, idempotency and parsing."""
