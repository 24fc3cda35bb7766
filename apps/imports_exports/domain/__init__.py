"""Domain functions for imports and exports."""
