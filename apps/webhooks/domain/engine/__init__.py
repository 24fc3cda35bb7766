"""The delivery engine: fan-out of pending events, and sending with leases and retries."""
