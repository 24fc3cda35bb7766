"""The bases of lists and forms."""
