"""Reverse URLs inside and outside the panel.

Each shop's panel is served at ``/s/<handle>/admin/…``. During a panel request, the script prefix and the URL
configuration are set for the current shop, so ``reverse("admin:…")`` returns URLs of this shop. For pages that do not
belong to a shop, such as the login page and the shop chooser, use ``get_global_url``.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.conf import settings
from django.urls import get_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf

from apps.core.tenancy.models import Shop

PANEL_URLS = "apps.core.admin.urls"


def get_panel_prefix(shop: Shop) -> str:
    return f"/s/{shop.handle}/admin/"


@contextmanager
def override_urlconf(urlconf: str, prefix: str) -> Iterator[None]:
    urlconf_before, prefix_before = get_urlconf(), get_script_prefix()
    set_urlconf(urlconf)
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_urlconf(urlconf_before)
        set_script_prefix(prefix_before)


def use_panel_urls(shop: Shop) -> AbstractContextManager[None]:
    return override_urlconf(PANEL_URLS, get_panel_prefix(shop))


def use_global_urls() -> AbstractContextManager[None]:
    return override_urlconf(settings.ROOT_URLCONF, "/")


def get_panel_url(shop: Shop, name: str = "admin:index", *args: object) -> str:
    with use_panel_urls(shop):
        return reverse(name, args=args)


def get_global_url(name: str, *args: object) -> str:
    with use_global_urls():
        return reverse(name, args=args)
