"""Addresses inside and outside of the panel.

Each shop's panel lies at ``/s/<handle>/admin/…``. While a request is in it, the script prefix and the URL configuration
are the panel's, so that ``reverse("admin:…")`` names the shop without being told. What lies outside (login, shop
chooser) must be asked for with ``outside_url``.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.conf import settings
from django.urls import get_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf

from apps.shops.models import Shop

PANEL_URLS = "apps.panel.urls"


def panel_prefix(shop: Shop) -> str:
    """Where a shop's panel begins."""
    return f"/s/{shop.handle}/admin/"


@contextmanager
def addresses(urlconf: str, prefix: str) -> Iterator[None]:
    """Within it, ``reverse`` answers from a URL configuration below a prefix."""
    urlconf_before, prefix_before = get_urlconf(), get_script_prefix()
    set_urlconf(urlconf)
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_urlconf(urlconf_before)
        set_script_prefix(prefix_before)


def inside(shop: Shop) -> AbstractContextManager[None]:
    """A context in which ``reverse`` answers from a shop's panel."""
    return addresses(PANEL_URLS, panel_prefix(shop))


def outside() -> AbstractContextManager[None]:
    """A context in which ``reverse`` answers from outside of every panel."""
    return addresses(settings.ROOT_URLCONF, "/")


def panel_url(shop: Shop, name: str = "admin:index", *args: object) -> str:
    """The address of a page of a shop's panel."""
    with inside(shop):
        return reverse(name, args=args)


def outside_url(name: str, *args: object) -> str:
    """The address of a page that belongs to no shop."""
    with outside():
        return reverse(name, args=args)
