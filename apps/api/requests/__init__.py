"""Request handling: authentication, rate limits, idempotency, parsing."""
