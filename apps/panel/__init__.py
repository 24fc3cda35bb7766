"""The panel kit: what every screen of staff is made of."""
