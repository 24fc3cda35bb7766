"""Locations, inventory items, inventory levels and inventory changes."""
