"""Reading rows."""
