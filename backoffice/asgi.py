"""The ASGI entry point: the WSGI application in threads, with a fair queue (``backoffice.server.adapter``)."""

from django.conf import settings
from django.urls import get_resolver

from backoffice.wsgi import application as wsgi_application

# The import above loads the apps, and the hooks import their models.
# isort: split
from backoffice.server.adapter import Adapter
from backoffice.server_hooks import BackofficeHooks

application = Adapter(wsgi_application, BackofficeHooks(), threads=settings.WEB_THREADS)


def load_views() -> None:
    """Load all views and URLs before the server forks its processes, so that they share this memory."""
    from apps.core.admin.reverse import PANEL_URLS

    for urlconf in (settings.ROOT_URLCONF, PANEL_URLS):
        get_resolver(urlconf).reverse_dict  # noqa: B018


load_views()
