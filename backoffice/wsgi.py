"""The WSGI entry point, with checks for requests that Django cannot parse."""

import os

from django.core.wsgi import get_wsgi_application

from apps.ground.socket_timeouts import limit_database_waits
from backoffice.wsgi_validation import validate_environ

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
# Web requests wait only briefly for a locked table, because clients can retry, and long waits would block all threads.
# Jobs and commands wait longer.
os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")

application = validate_environ(get_wsgi_application())
limit_database_waits()
