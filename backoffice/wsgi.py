"""The WSGI entry point, with checks for requests that Django cannot parse."""

import os
from wsgiref.types import WSGIApplication

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from apps.core.db.postgresql.connections import limit_database_waits
from backoffice.wsgi_validation import validate_environ

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
# See ``backoffice.server.gunicorn_config``.
os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")

application: WSGIApplication = get_wsgi_application()
if settings.TRACES_ENDPOINT:
    from backoffice.observability.tracing import trace_application

    application = trace_application(application)
application = validate_environ(application)
limit_database_waits()
