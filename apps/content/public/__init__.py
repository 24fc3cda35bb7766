"""What everybody may read of a shop."""
