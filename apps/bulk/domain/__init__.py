"""Many rows changed at once: chosen, looked at, changed one by one, put back."""
