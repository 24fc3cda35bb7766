"""Files that go out and come in."""

import secrets
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.ground.rows import ShopOwned

# What people call the kinds of objects, by name; filled where kinds are registered.
LABELS: dict[str, str] = {}
# The folders of the files, each with one for every shop.
EXPORTS, IMPORTS = "exports", "imports"


class Format(models.TextChoices):
    """How a file holds it."""

    CSV = "csv", "CSV, for spreadsheets"
    JSON_LINES = "jsonl", "JSON lines, complete"
    JSON = "json", "JSON, one document"


# What a file of many objects can be.
OF_MANY = (Format.CSV, Format.JSON_LINES)


def new_key() -> str:
    """256 random bits, by which a file is named and fetched."""
    return secrets.token_urlsafe(32)


class Export(ShopOwned):
    """A file that somebody asked for; only that person gets it, in this shop, until it expires."""

    class State(models.TextChoices):
        WAITING = "waiting", "Being made"
        READY = "ready", "Ready"
        FAILED = "failed", "Failed"
        EXPIRED = "expired", "Expired"

    kind = models.CharField(max_length=9)
    format = models.CharField(max_length=5, choices=Format)
    filters = models.JSONField(default=dict)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=43, default=new_key, unique=True, editable=False)
    file = models.CharField(max_length=200, blank=True, editable=False, help_text="Where it lies, once it is written.")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    row_count = models.PositiveIntegerField(default=0)
    parts = models.JSONField(
        null=True,
        editable=False,
        help_text="Of one that is being made: places of what is written, and the last object in it.",
    )
    expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "orders_export"
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.kind_label} of {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def kind_label(self) -> str:
        """What people call its kind."""
        return LABELS.get(self.kind, self.kind)

    @property
    def place(self) -> str:
        """Where the file is kept; files that were written before this was noted lie under their key."""
        return self.file or f"{EXPORTS}/{self.shop_id}/{self.key}.{self.format}"

    def new_place(self) -> str:
        """A place for the file that no other writer of it has."""
        return f"{EXPORTS}/{self.shop_id}/{self.key}-{secrets.token_hex(8)}.{self.format}"

    def is_open_to(self, user_id: int, at: datetime) -> bool:
        """Whether a person gets the file."""
        fresh = self.expires_at is not None and at < self.expires_at
        return self.state == self.State.READY and fresh and self.user_id == user_id


class Import(ShopOwned):
    """A file that came in: checked without any effect first, then taken in row by row.

    Whoever works on it holds ``claim`` until ``claimed_until``, by the database's clock, or lets go of it before.
    """

    class State(models.TextChoices):
        CHECKING = "checking", "Being checked"
        CHECKED = "checked", "Checked: waiting for you"
        IMPORTING = "importing", "Being imported"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    name = models.CharField("file", max_length=255)
    format = models.CharField(max_length=5, choices=Format)
    digest = models.CharField(max_length=64)
    key = models.CharField(max_length=43, default=new_key, unique=True, editable=False)
    state = models.CharField(max_length=9, choices=State, default=State.CHECKING)
    actor = models.CharField(max_length=100)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict, help_text="What the check found: rows by fate.")
    unknown = models.JSONField(default=list, help_text="Its columns that nobody knows, and that are left out.")
    mapping = models.JSONField(null=True, help_text="What people said its columns mean; else their names say it.")
    problem = models.CharField(max_length=500, blank=True)
    claim = models.UUIDField(null=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "orders_import"
        ordering = ("-id",)
        indexes = (models.Index(fields=("shop", "digest"), name="orders_import_by_digest"),)

    def __str__(self) -> str:
        return self.name

    @property
    def event_label(self) -> str:
        """How the audit trail names the file: people name files after people, and its rows are never changed."""
        return f"Import {self.pk}"

    @property
    def place(self) -> str:
        """Where the file is kept."""
        return f"{IMPORTS}/{self.shop_id}/{self.key}.{self.format}"


class ImportedRow(ShopOwned):
    """What became of one row of a file, or would become of it.

    ``source_key`` says of which order elsewhere a new one was made, so that no file brings it twice.
    """

    class Fate(models.TextChoices):
        NEW = "new", "New"
        CHANGED = "changed", "Changed"
        SKIPPED = "skipped", "Skipped"
        FAILED = "failed", "Failed"

    file = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="fates")
    line = models.PositiveIntegerField(help_text="In the file, from 1.")
    dry = models.BooleanField(default=False, help_text="Whether it was only checked.")
    kind = models.CharField(max_length=9, blank=True)
    fate = models.CharField(max_length=7, choices=Fate)
    label = models.CharField(max_length=255, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    source_key = models.CharField(max_length=300, blank=True)
    changes = models.JSONField(default=list, help_text="For the preview: field, old value and new one.")

    class Meta:
        db_table = "orders_importedrow"
        ordering = ("line",)
        constraints = (
            models.UniqueConstraint(fields=("file", "dry", "line"), name="orders_importedrow_one_per_line"),
            models.UniqueConstraint(
                fields=("shop", "source_key"),
                condition=~Q(source_key="") & Q(dry=False, fate="new"),
                name="orders_importedrow_source_once",
            ),
        )
        indexes = (models.Index(fields=("file", "dry", "fate", "line"), name="orders_importedrow_by_fate"),)

    def __str__(self) -> str:
        return f"{self.line}: {self.get_fate_display()}"

    @property
    def kind_label(self) -> str:
        """What people call its kind; blank where that could not be told."""
        return LABELS.get(self.kind, self.kind)
