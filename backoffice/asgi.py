"""The ASGI entry point: the WSGI application in threads, with a fair queue (``backoffice.server.adapter``)."""

from django.conf import settings

from backoffice.server.adapter import Adapter
from backoffice.server_hooks import BackofficeHooks
from backoffice.wsgi import application as wsgi_application

application = Adapter(wsgi_application, BackofficeHooks(), threads=settings.WEB_THREADS)
