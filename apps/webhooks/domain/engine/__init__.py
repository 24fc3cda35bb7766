"""The engine: from events that are pending to deliveries that are over."""
