"""The project: settings, root URLs, the WSGI and Celery entry points."""
