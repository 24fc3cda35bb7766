"""``manage.py import_store URL``: import a store from another installation through its REST API."""

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.core.exceptions import DomainError
from apps.core.management.target_shop import get_target_shop
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain.following import reopen_import
from apps.store_imports.domain.progress import describe_remaining, estimate_remaining
from apps.store_imports.domain.report import NOT_IMPORTED, compare_settings
from apps.store_imports.domain.runner import get_or_create_import, run_store_import
from apps.store_imports.domain.selection import find_missing_references, select_streams
from apps.store_imports.domain.source_client import (
    ObjectGone,
    SourceClient,
    SourceObject,
    normalize_source_url,
    normalize_token,
)
from apps.store_imports.management.following import DEFAULT_INTERVAL, follow_and_print
from apps.store_imports.management.verification import verify_and_print
from apps.store_imports.models import ImportProblem, StoreImport, StreamState

TOKEN_VARIABLE = "SOURCE_ACCESS_TOKEN"  # noqa: S105 - a name
MAX_SHOWN_NOTES = 100
# The characters of a word in the name of a header.
_HEADER_WORD = re.compile(r"[A-Za-z0-9-]+")


class Command(BaseCommand):
    """Imports a store. Running the command again continues an interrupted import, or imports what has changed."""

    help = "Import products, customers, orders, pages, themes and other objects of a store through its REST API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="the address of the store, such as https://shop.example")
        parser.add_argument(
            "--token", default="", help=f"an access token of the store; by default, the variable {TOKEN_VARIABLE}"
        )
        parser.add_argument("--shop", help="domain of the shop to import into (optional if there is only one shop)")
        parser.add_argument(
            "--brand", default=settings.BRAND, help="the word in the header X-…-Access-Token of the store"
        )
        parser.add_argument(
            "--only", default="", metavar="STREAMS", help="import only these objects, such as products,customers"
        )
        parser.add_argument("--api-version", default=get_latest_version(), help="the version of the store's REST API")
        modes = parser.add_mutually_exclusive_group()
        modes.add_argument("--follow", action="store_true", help="import changes and deletions until Ctrl-C")
        modes.add_argument("--final", action="store_true", help="import the last changes, and end the import")
        modes.add_argument("--verify", action="store_true", help="compare all objects with those of the store")
        parser.add_argument(
            "--interval", type=float, default=DEFAULT_INTERVAL, help="the seconds between two passes of --follow"
        )
        parser.add_argument(
            "--report", help="the file for the findings of --verify, as lines of JSON, or as CSV (.csv)"
        )
        parser.add_argument(
            "--skip-metafields",
            action="store_true",
            help="with --final: only read the metafields of changed objects, because each object takes a request",
        )
        parser.add_argument("--reopen", action="store_true", help="import again after --final")
        parser.add_argument(
            "--with-variant-metafields",
            action="store_true",
            help="also import the metafields of variants and of product images, which takes a request for each",
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Import the store. Exit with code 1 if objects could not be imported."""
        shop = get_target_shop(options["shop"])
        if options["only"] and (options["follow"] or options["final"] or options["verify"]):
            raise CommandError("--only can't be combined with --follow, --final or --verify.")
        if options["skip_metafields"] and not options["final"]:
            raise CommandError("--skip-metafields needs --final.")
        token = _get_token(options)
        try:
            url, token = normalize_source_url(options["url"]), normalize_token(token)
            names = [name.strip() for name in options["only"].split(",") if name.strip()]
            selected = select_streams(names)
            client = SourceClient(url, token, options["brand"], options["api_version"])
            source_shop = client.get("shop.json").get("shop")
            if not isinstance(source_shop, dict):
                raise CommandError(f"There is no REST API at {url}: the response to shop.json contains no shop.")
            with shop_scope(shop):
                store_import = get_or_create_import(url)
                if options["reopen"]:
                    reopen_import(store_import)
                if options["verify"]:
                    verify_and_print(self.stdout, store_import, client, source_shop, report=options["report"])
                    return
                self._import(store_import, client, source_shop, options, names)
                self._print_report(store_import, source_shop)
                for stream, needed in find_missing_references(selected):
                    self.stdout.write(f"note: {stream} refer to {needed}, which were not selected")
                failed = ImportProblem.objects.filter(store_import=store_import, is_failure=True).count()
        except ObjectGone as error:
            raise CommandError(f"There is no REST API at {url}: {error} was not found.") from None
        except DomainError as error:
            raise CommandError(error.sentence) from None
        if failed:
            raise CommandError(f"{failed} {'object was' if failed == 1 else 'objects were'} not imported.")

    def _import(
        self,
        store_import: StoreImport,
        client: SourceClient,
        source_shop: SourceObject,
        options: Mapping[str, Any],
        names: Collection[str],
    ) -> None:
        def print_progress(state: StreamState) -> None:
            self._print_progress(store_import, state, names)

        if options["follow"] or options["final"]:
            follow_and_print(self.stdout, store_import, client, options, on_progress=print_progress)
            return
        with closing(
            run_store_import(
                store_import,
                client,
                source_shop,
                selected=names,
                with_variant_metafields=options["with_variant_metafields"],
            )
        ) as states:
            for state in states:
                print_progress(state)

    def _print_progress(self, store_import: StoreImport, state: StreamState, names: Collection[str]) -> None:
        if sys.stderr.isatty():
            states = StreamState.objects.filter(store_import=store_import)
            remaining = estimate_remaining(list(states.filter(name__in=names) if names else states))
            total = f" of {state.total}" if state.total is not None else ""
            text = f"{state.name}: {state.done}{total} … {describe_remaining(remaining)}"
            # Overwrite the rest of a longer line.
            self.stderr.write(f"{text:<78}", ending="\r")

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


def _get_token(options: Mapping[str, Any]) -> str:
    """Return the access token. Raise ``CommandError`` if it or the word in the name of its header is invalid."""
    token = str(options["token"] or os.environ.get(TOKEN_VARIABLE, "")).strip()
    if not token:
        raise CommandError(f"Pass the access token of the store with --token or {TOKEN_VARIABLE}.")
    if not _HEADER_WORD.fullmatch(options["brand"]):
        raise CommandError("--brand must only contain the letters a to z, digits and hyphens.")
    return token
