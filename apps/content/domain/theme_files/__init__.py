"""The names and contents of theme files."""
