"""Django project: settings, root URLs, process entry points."""
