"""Domain functions of imports and exports."""
