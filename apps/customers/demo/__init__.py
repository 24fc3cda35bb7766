"""The demo store's customers."""
