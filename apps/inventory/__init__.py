"""Locations, inventory items, inventory levels and stock movements."""
