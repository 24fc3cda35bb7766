"""Outgoing HTTP: the only place of the product that opens connections to addresses which somebody else chose."""
