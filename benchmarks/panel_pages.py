"""Measure the CPU time of the panel's pages: ``python -m benchmarks.panel_pages [--pages N] [--only TEXT]``.

The owner of the demo shop opens every page that a GET request can open, in this process and without a web server. The
demo shop is created if it does not exist.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any

import django

ROUNDS = 5


def iterate_routes(patterns: list[Any]) -> Iterator[Any]:
    from django.urls import URLResolver

    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from iterate_routes(pattern.url_patterns)
        elif pattern.name:
            yield pattern


def list_pages(shop: Any) -> dict[str, str]:
    """Return the paths of all pages by URL name, with the newest object where the path contains an object."""
    from django.contrib import admin

    from apps.core.admin.reverse import get_panel_url

    models = {f"{model._meta.label_lower.replace('.', '_')}_": model for model in admin.site._registry}
    pages = {}
    for route in iterate_routes(admin.site.get_urls()):
        count = route.pattern.regex.groups if hasattr(route.pattern, "regex") else 0
        model = next((model for start, model in models.items() if route.name.startswith(start)), None)
        newest = model._default_manager.order_by("pk").last() if model is not None and count else None
        if count > 1 or (count and newest is None):
            continue
        pages[route.name] = get_panel_url(shop, f"admin:{route.name}", *([newest.pk] if newest else []))
    return pages


def measure_page(client: Any, path: str) -> tuple[float, int] | None:
    """Return the least CPU milliseconds and the bytes of a page, or None if the URL is not a page."""
    least, size = 0.0, 0
    for turn in range(ROUNDS + 1):
        began = time.process_time()
        response = client.get(path)
        content = response.getvalue()
        milliseconds = (time.process_time() - began) * 1000
        if response.status_code != 200:
            return None
        if turn:
            least = min(least or milliseconds, milliseconds)
            size = len(content)
    return least, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, metavar="N", help="measure only N pages")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure only pages whose name contains TEXT")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    django.setup()
    from django.core.management import call_command
    from django.test import Client

    from apps.core.tenancy.models import Membership, Shop
    from apps.core.tenancy.scope import shop_scope
    from apps.demo.management.commands.demo import DOMAIN

    if not Shop.objects.filter(domain=DOMAIN).exists():
        call_command("demo")
    shop = Shop.objects.get(domain=DOMAIN)
    client = Client()
    with shop_scope(shop):
        client.force_login(Membership.objects.get(account_owner=True).user)
        pages = {name: path for name, path in list_pages(shop).items() if options.only in name}
    results: dict[str, tuple[float, int]] = {}
    for name, path in pages.items():
        if options.pages is not None and len(results) >= options.pages:
            break
        if (result := measure_page(client, path)) is not None:
            results[name] = result
    for name, (milliseconds, size) in sorted(results.items(), key=lambda item: -item[1][0]):
        print(f"{milliseconds:8.1f} ms {size / 1000:7.0f} kB  {name}")
    times = [milliseconds for milliseconds, _ in results.values()]
    print(f"{len(times)} pages: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")


if __name__ == "__main__":
    main()
