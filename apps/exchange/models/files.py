"""Files that go out and come in."""

import secrets
from datetime import UTC, datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django_stubs_ext import StrOrPromise

from apps.ground import languages
from apps.ground.retelling import names, number
from apps.ground.rows import ShopOwned

_IN_UTC = "%Y-%m-%d %H:%M"


def _moment(text: str) -> str:
    """When a file was made, by its name in the audit trail: in UTC there; ``KeyError`` for anything else."""
    try:
        made = datetime.strptime(text, _IN_UTC).replace(tzinfo=UTC)
    except ValueError:
        raise KeyError(text) from None
    return languages.dated(made, "j M Y, H:i")


_MADE = names(gettext_noop("{kind} of {moment}"), kind=gettext, moment=_moment)
_NAMED = names(gettext_noop("Import {number}"), number=number)
# What people call the kinds of objects, by name; filled where kinds are registered.
LABELS: dict[str, StrOrPromise] = {}
# The folders of the files, each with one for every shop.
EXPORTS, IMPORTS = "exports", "imports"


class Format(models.TextChoices):
    """How a file holds it."""

    CSV = "csv", gettext_lazy("CSV, for spreadsheets")
    JSON_LINES = "jsonl", gettext_lazy("JSON lines, complete")
    JSON = "json", gettext_lazy("JSON, one document")


# What a file of many objects can be.
OF_MANY = (Format.CSV, Format.JSON_LINES)


def new_key() -> str:
    """256 random bits, by which a file is named and fetched."""
    return secrets.token_urlsafe(32)


class Export(ShopOwned):
    """A file that somebody asked for; only that person gets it, in this shop, until it expires."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Being made")
        READY = "ready", gettext_lazy("Ready")
        FAILED = "failed", gettext_lazy("Failed")
        EXPIRED = "expired", gettext_lazy("Expired")

    kind = models.CharField(gettext_lazy("kind"), max_length=9)
    format = models.CharField(gettext_lazy("format"), max_length=5, choices=Format)
    filters = models.JSONField(gettext_lazy("filters"), default=dict)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=43, default=new_key, unique=True, editable=False)
    file = models.CharField(
        gettext_lazy("file"),
        max_length=200,
        blank=True,
        editable=False,
        help_text=gettext_lazy("Where it lies, once it is written."),
    )
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    row_count = models.PositiveIntegerField(gettext_lazy("row count"), default=0)
    parts = models.JSONField(
        null=True,
        editable=False,
        help_text="Of one that is being made: places of what is written, and the last object in it.",
    )
    expires_at = models.DateTimeField(gettext_lazy("expires at"), null=True)

    class Meta:
        verbose_name = gettext_lazy("export")
        verbose_name_plural = gettext_lazy("exports")
        db_table = "orders_export"
        ordering = ("-id",)

    def __str__(self) -> str:
        return gettext(_MADE).format(kind=self.kind_label, moment=languages.dated(self.created_at, "j M Y, H:i"))

    @property
    def event_label(self) -> str:
        """How the audit trail names the file, which pages tell again in the reader's language and the shop's time."""
        return _MADE.format(kind=self.kind_label, moment=f"{self.created_at.astimezone(UTC):{_IN_UTC}}")

    @property
    def kind_label(self) -> str:
        """What people call its kind."""
        return str(LABELS.get(self.kind, self.kind))

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
        CHECKING = "checking", gettext_lazy("Being checked")
        CHECKED = "checked", gettext_lazy("Checked: waiting for you")
        IMPORTING = "importing", gettext_lazy("Being imported")
        DONE = "done", gettext_lazy("Done")
        FAILED = "failed", gettext_lazy("Failed")

    name = models.CharField(gettext_lazy("file"), max_length=255)
    format = models.CharField(gettext_lazy("format"), max_length=5, choices=Format)
    digest = models.CharField(max_length=64)
    key = models.CharField(max_length=43, default=new_key, unique=True, editable=False)
    state = models.CharField(max_length=9, choices=State, default=State.CHECKING)
    actor = models.CharField(gettext_lazy("actor"), max_length=100)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(gettext_lazy("done"), default=0)
    counts = models.JSONField(default=dict, help_text="What the check found: rows by fate.")
    unknown = models.JSONField(default=list, help_text="Its columns that nobody knows, and that are left out.")
    passed_over = models.JSONField(
        null=True, default=list, help_text="Its columns that are known to have no place here."
    )
    mapping = models.JSONField(null=True, help_text="What people said its columns mean; else their names say it.")
    problem = models.CharField(max_length=500, blank=True)
    claim = models.UUIDField(null=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    class Meta:
        verbose_name = gettext_lazy("import")
        verbose_name_plural = gettext_lazy("imports")
        db_table = "orders_import"
        ordering = ("-id",)
        indexes = (models.Index(fields=("shop", "digest"), name="orders_import_by_digest"),)

    def __str__(self) -> str:
        return self.name

    @property
    def event_label(self) -> str:
        """How the audit trail names the file: people name files after people, and its rows are never changed."""
        return _NAMED.format(number=self.pk)

    @property
    def place(self) -> str:
        """Where the file is kept."""
        return f"{IMPORTS}/{self.shop_id}/{self.key}.{self.format}"


class ImportedRow(ShopOwned):
    """What became of one row of a file, or would become of it.

    ``source_key`` says of which order elsewhere a new one was made, so that no file brings it twice.
    """

    # Where the object is shown; a page fills it.
    link = ""

    class Fate(models.TextChoices):
        NEW = "new", gettext_lazy("New")
        CHANGED = "changed", gettext_lazy("Changed")
        SKIPPED = "skipped", gettext_lazy("Skipped")
        FAILED = "failed", gettext_lazy("Failed")

    file = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="fates", verbose_name=gettext_lazy("file"))
    line = models.PositiveIntegerField(gettext_lazy("line"), help_text=gettext_lazy("In the file, from 1."))
    dry = models.BooleanField(default=False, help_text="Whether it was only checked.")
    kind = models.CharField(gettext_lazy("kind"), max_length=9, blank=True)
    fate = models.CharField(gettext_lazy("fate"), max_length=7, choices=Fate)
    label = models.CharField(gettext_lazy("label"), max_length=255, blank=True)
    reason = models.CharField(gettext_lazy("reason"), max_length=1000, blank=True)
    source_key = models.CharField(max_length=300, blank=True)
    changes = models.JSONField(default=list, help_text="For the preview: field, old value and new one.")

    class Meta:
        verbose_name = gettext_lazy("imported row")
        verbose_name_plural = gettext_lazy("imported rows")
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
        return str(LABELS.get(self.kind, self.kind))
