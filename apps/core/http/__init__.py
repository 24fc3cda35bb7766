"""Outgoing HTTP: the only code that connects to URLs chosen by staff or apps."""
