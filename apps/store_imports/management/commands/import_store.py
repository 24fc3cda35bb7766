"""``manage.py import_store URL``: import a store from another installation through its REST API."""

import os
import re
import sys
from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.core.exceptions import DomainError
from apps.core.management.target_shop import get_target_shop
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain.report import NOT_IMPORTED, compare_settings
from apps.store_imports.domain.runner import get_or_create_import, run_store_import
from apps.store_imports.domain.source_client import ObjectGone, SourceClient, SourceObject, normalize_source_url
from apps.store_imports.models import ImportProblem, StoreImport, StreamState

TOKEN_VARIABLE = "SOURCE_ACCESS_TOKEN"  # noqa: S105 - a name
MAX_SHOWN_NOTES = 100
# The characters of an access token, and of a word in the name of a header.
_VISIBLE_ASCII = re.compile(r"[!-~]+")
_HEADER_WORD = re.compile(r"[A-Za-z0-9-]+")


class Command(BaseCommand):
    """Imports a store. Running the command again continues an interrupted import, or imports what has changed."""

    help = (
        "Import the catalog, customers, discounts, gift cards, draft orders and more of a store through its REST API."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="the address of the store, such as https://shop.example")
        parser.add_argument(
            "--token", default="", help=f"an access token of the store; by default, the variable {TOKEN_VARIABLE}"
        )
        parser.add_argument("--shop", help="domain of the shop to import into (optional if there is only one shop)")
        parser.add_argument(
            "--brand", default=settings.BRAND, help="the word in the header X-…-Access-Token of the store"
        )
        parser.add_argument("--api-version", default=get_latest_version(), help="the version of the store's REST API")

    def handle(self, *args: object, **options: Any) -> None:
        """Import the store. Exit with code 1 if objects could not be imported."""
        shop = get_target_shop(options["shop"])
        token = (options["token"] or os.environ.get(TOKEN_VARIABLE, "")).strip()
        if not token:
            raise CommandError(f"Pass the access token of the store with --token or {TOKEN_VARIABLE}.")
        if not _VISIBLE_ASCII.fullmatch(token):
            raise CommandError("The access token contains spaces or special characters. Copy it from the store again.")
        if not _HEADER_WORD.fullmatch(options["brand"]):
            raise CommandError("--brand must only contain the letters a to z, digits and hyphens.")
        try:
            url = normalize_source_url(options["url"])
            client = SourceClient(url, token, options["brand"], options["api_version"])
            source_shop = client.get("shop.json").get("shop")
            if not isinstance(source_shop, dict):
                raise CommandError(f"There is no REST API at {url}: the response to shop.json contains no shop.")
            with shop_scope(shop):
                store_import = get_or_create_import(url)
                with closing(run_store_import(store_import, client, source_shop)) as states:
                    for state in states:
                        self._print_progress(state)
                self._print_report(store_import, source_shop)
                failed = ImportProblem.objects.filter(store_import=store_import, is_failure=True).count()
        except ObjectGone as error:
            raise CommandError(f"There is no REST API at {url}: {error} was not found.") from None
        except DomainError as error:
            raise CommandError(error.sentence) from None
        if failed:
            raise CommandError(f"{failed} {'object was' if failed == 1 else 'objects were'} not imported.")

    def _print_progress(self, state: StreamState) -> None:
        if sys.stderr.isatty():
            total = f" of {state.total}" if state.total is not None else ""
            self.stderr.write(f"{state.name}: {state.done}{total} …", ending="\r")

    def _print_report(self, store_import: StoreImport, source_shop: SourceObject) -> None:
        for state in StreamState.objects.filter(store_import=store_import).order_by("pk"):
            counts = f"{state.new} new, {state.changed} changed, {state.unchanged} unchanged, {state.failed} failed"
            self.stdout.write(f"{state.name}: {counts}")
        problems = ImportProblem.objects.filter(store_import=store_import).order_by("pk")
        for problem in problems.filter(is_failure=True).iterator():
            self.stdout.write(f"{problem.stream} {problem.source_id}: not imported: {problem.reason}")
        notes = problems.filter(is_failure=False)
        for problem in notes[:MAX_SHOWN_NOTES]:
            self.stdout.write(f"{problem.stream} {problem.source_id}: note: {problem.reason}")
        if (count := notes.count()) > MAX_SHOWN_NOTES:
            self.stdout.write(f"… and {count - MAX_SHOWN_NOTES} more notes")
        for name, theirs, ours in compare_settings(source_shop):
            self.stdout.write(f"setting {name}: {theirs!r} in the store, {ours!r} in this shop")
        self.stdout.write("Not imported:")
        for what, reason in NOT_IMPORTED:
            self.stdout.write(f"  {what}: {reason}")
