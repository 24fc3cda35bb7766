"""Building blocks of the staff panel: site, menu, palette, dashboard and admin base classes."""
