"""Run a floor behind the product's adapter: ``gunicorn … "benchmarks.floors.serve:build('a')"``."""

import importlib

from django.conf import settings

from backoffice.server.adapter import Adapter, Hooks


def build(name: str) -> Adapter:
    """Return the ASGI application of a floor."""
    application = importlib.import_module(f"benchmarks.floors.{name}").application
    return Adapter(application, Hooks(), threads=settings.WEB_THREADS)
