"""The delivery engine: creates deliveries from pending events, and sends them with leases and retries."""
