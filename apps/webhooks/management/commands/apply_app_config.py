"""``manage.py apply_app_config FILE``: apply an app's configuration file to its webhooks in all shops."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from apps.core.tenancy.models import App
from apps.shops.domain import app_registration
from apps.webhooks.domain.app_config import (
    AppConfig,
    ConfigChanges,
    ConfigRefused,
    apply_config,
    compare_config,
    parse_config,
)


class Command(BaseCommand):
    help = "Apply a configuration file (TOML) to an app: settings of the app and webhook subscriptions for all shops."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--app", default="", help="the app's API key; by default the client_id in the file")
        parser.add_argument(
            "--create", action="store_true", help="create a new app from the file, and print its API key and secret"
        )
        parser.add_argument("--dry-run", action="store_true", help="show the changes without applying them")

    def handle(self, *args: object, **options: Any) -> None:
        file: Path = options["file"]
        try:
            configuration = parse_config(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot read {file}: {error}") from error
        except ConfigRefused as error:
            raise CommandError(error.sentence) from error
        key = options["app"] or configuration.client_id
        app = App.objects.filter(api_key=key).first()
        if options["create"]:
            self._create(configuration)
            return
        if app is None or app.is_shop_app:
            raise CommandError(
                f"No app has the key {key}." if key else "The file has no client_id. Pass the app's key with --app."
            )
        self._apply(app, configuration, compare_config if options["dry_run"] else apply_config)

    @transaction.atomic
    def _create(self, configuration: AppConfig) -> None:
        """Create the app that the file describes and print its secret, which cannot be displayed again."""
        if configuration.client_id:
            raise CommandError("The file already has a client_id. Remove it to create a new app.")
        if not configuration.app.get("name"):
            raise CommandError("The file has no app name. Add a name.")
        app = app_registration.register_app(
            {"name": configuration.app["name"]}, owner=None, actor="system", at=timezone.now()
        )
        self._apply(app, configuration, apply_config)
        self.stdout.write(f"client_id: {app.api_key}")
        self.stdout.write(f"client_secret: {app.api_secret}")

    def _apply(self, app: App, configuration: AppConfig, apply: Callable[..., ConfigChanges]) -> None:
        try:
            difference = apply(app, configuration, at=timezone.now())
        except ConfigRefused as error:
            raise CommandError(error.sentence) from error
        for line in difference.lines():
            self.stdout.write(line)
        if not list(difference.lines()):
            self.stdout.write("No changes.")
        for warning in difference.warnings:
            self.stderr.write(f"Warning: {warning}")
