"""``manage.py apply_app_config FILE``: an app's webhooks, for all its shops, as its configuration file says."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from apps.shops.domain import registering
from apps.shops.models import App
from apps.webhooks.domain.configuration import (
    Configuration,
    ConfigurationRefused,
    Difference,
    apply_configuration,
    compare,
    read_configuration,
)


class Command(BaseCommand):
    """Shows what a configuration file changes, and applies it."""

    help = "Apply an app's configuration file (TOML): its webhook subscriptions for all shops, its name and addresses."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, the app where the file does not name it, and whether to look only."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--app", default="", help="the app's key; by default the file's client_id")
        parser.add_argument("--create", action="store_true", help="make a new app of the file, and print its keys once")
        parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")

    def handle(self, *args: object, **options: Any) -> None:
        """Read, compare, apply."""
        file: Path = options["file"]
        try:
            configuration = read_configuration(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        except ConfigurationRefused as error:
            raise CommandError(error.sentence) from error
        key = options["app"] or configuration.client_id
        app = App.objects.filter(api_key=key).first()
        if options["create"]:
            self._create(configuration)
            return
        if app is None:
            raise CommandError(
                f"No app has the key {key}." if key else "The file has no client_id; name the app: --app."
            )
        self._apply(app, configuration, compare if options["dry_run"] else apply_configuration)

    @transaction.atomic
    def _create(self, configuration: Configuration) -> None:
        """Make the app that the file describes; its secret is printed this once."""
        if configuration.client_id:
            raise CommandError("The file has a client_id already; take it out to make another app.")
        if not configuration.app.get("name"):
            raise CommandError("The file has no name for the app.")
        app = registering.register({"name": configuration.app["name"]}, owner=None, actor="system", at=timezone.now())
        self._apply(app, configuration, apply_configuration)
        self.stdout.write(f"client_id: {app.api_key}")
        self.stdout.write(f"client_secret: {app.api_secret}")

    def _apply(self, app: App, configuration: Configuration, apply: Callable[..., Difference]) -> None:
        try:
            difference = apply(app, configuration, at=timezone.now())
        except ConfigurationRefused as error:
            raise CommandError(error.sentence) from error
        for line in difference.lines():
            self.stdout.write(line)
        if not list(difference.lines()):
            self.stdout.write("Nothing changes.")
        for warning in difference.warnings:
            self.stderr.write(f"Warning: {warning}")
