"""Outgoing HTTP: the only code that connects to URLs chosen by users or apps."""
