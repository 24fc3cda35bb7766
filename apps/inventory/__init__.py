"""Where goods lie and how many: locations, items, levels, movements."""
