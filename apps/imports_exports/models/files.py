"""Import and export files."""

import secrets
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import Message, MessageField, define_message, define_text, translate
from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned

_EXPORT_LABEL = define_message("imports.export", "{kind} of {moment}")
_IMPORT_LABEL = define_message("imports.import", "Import {number}")
_MAPPING_LABEL = define_message("imports.saved_mapping", "Column mapping {number}")
# Names of resources that staff see.
resource_labels = Registry[str, Message]("labels of imported and exported resources")
# Root folders of the files. Each shop has a subfolder.
EXPORTS, IMPORTS = "exports", "imports"


class Format(models.TextChoices):
    CSV = "csv", gettext_lazy("CSV, for spreadsheets")
    XLSX = "xlsx", gettext_lazy("Excel workbook (.xlsx)")
    JSON_LINES = "jsonl", gettext_lazy("JSON lines, complete")
    JSON = "json", gettext_lazy("JSON, one document")
    PDF = "pdf", "PDF"


# Formats that contain a table.
TABLES = frozenset({Format.CSV, Format.XLSX})


class Encoding(models.TextChoices):
    """Character encodings of CSV files. The values are names of Python's codecs."""

    UTF8 = "utf-8", "UTF-8"
    UTF16 = "utf-16", "UTF-16"
    WINDOWS_1252 = "cp1252", gettext_lazy("Windows-1252 (Western European)")
    WINDOWS_1250 = "cp1250", gettext_lazy("Windows-1250 (Central European)")
    WINDOWS_1251 = "cp1251", gettext_lazy("Windows-1251 (Cyrillic)")
    WINDOWS_1253 = "cp1253", gettext_lazy("Windows-1253 (Greek)")
    WINDOWS_1254 = "cp1254", gettext_lazy("Windows-1254 (Turkish)")
    MAC_ROMAN = "mac-roman", gettext_lazy("Mac OS Roman")
    SHIFT_JIS = "cp932", gettext_lazy("Shift JIS (Japanese)")
    GB18030 = "gb18030", gettext_lazy("GB 18030 (Chinese)")
    EUC_KR = "cp949", gettext_lazy("EUC-KR (Korean)")


ENCODING_NAMES = {
    encoding.value: define_text(f"imports.encoding.{encoding.value}", encoding.label) for encoding in Encoding
}


def new_key() -> str:
    return secrets.token_urlsafe(32)


class Export(ShopOwned):
    """An export file. Only the user who created it can download it, and only until it expires."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("In progress")
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
        help_text=gettext_lazy("The path of the finished file."),
    )
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    row_count = models.PositiveIntegerField(gettext_lazy("row count"), default=0)
    parts = models.JSONField(
        null=True,
        editable=False,
        help_text="Checkpoint of an unfinished export: paths of its parts, and the last object.",
    )
    expires_at = models.DateTimeField(gettext_lazy("expires at"), null=True)

    personal_fields = ("filters",)
    non_personal_fields = ("kind", "key", "file", "parts")

    class Meta:
        verbose_name = gettext_lazy("export")
        verbose_name_plural = gettext_lazy("exports")
        db_table = "imports_exports_export"
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.event_label.localize()

    @property
    def event_label(self) -> Message:
        return _EXPORT_LABEL(kind=resource_labels.get(self.kind, self.kind), moment=self.created_at)

    @property
    def kind_label(self) -> str:
        return translate(resource_labels.get(self.kind, self.kind))

    @property
    def path(self) -> str:
        """Return the path of the file. An old export has no saved path, so its path is built from the key."""
        return self.file or f"{EXPORTS}/{self.shop_id}/{self.key}.{self.format}"

    def create_path(self) -> str:
        """Return a new path that no other writer uses."""
        return f"{EXPORTS}/{self.shop_id}/{self.key}-{secrets.token_hex(8)}.{self.format}"

    def is_downloadable_by(self, user_id: int, at: datetime) -> bool:
        is_unexpired = self.expires_at is not None and at < self.expires_at
        return self.state == self.State.READY and is_unexpired and self.user_id == user_id


class Import(ShopOwned):
    """An import file, which is validated first and then imported row by row.

    The worker that processes the file holds the lease ``claim`` until ``claimed_until``, by the clock of the database.
    """

    class State(models.TextChoices):
        CHECKING = "checking", gettext_lazy("Validating")
        CHECKED = "checked", gettext_lazy("Waiting for confirmation")
        IMPORTING = "importing", gettext_lazy("Importing")
        DONE = "done", gettext_lazy("Done")
        FAILED = "failed", gettext_lazy("Failed")

    name = models.CharField(gettext_lazy("file"), max_length=255)
    format = models.CharField(gettext_lazy("format"), max_length=5, choices=Format)
    encoding = models.CharField(
        max_length=9,
        choices=Encoding,
        default=Encoding.UTF8,
        db_default=Encoding.UTF8,
        help_text="The encoding of a CSV file, detected or chosen by the user.",
    )
    digest = models.CharField(max_length=64)
    key = models.CharField(max_length=43, default=new_key, unique=True, editable=False)
    state = models.CharField(max_length=9, choices=State, default=State.CHECKING)
    actor = models.CharField(gettext_lazy("actor"), max_length=100)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(gettext_lazy("done"), default=0)
    counts = models.JSONField(default=dict, help_text="Number of rows by result, from the validation.")
    unknown = models.JSONField(default=list, help_text="Unknown columns, which are ignored.")
    passed_over = models.JSONField(null=True, default=list, help_text="Unsupported columns, which are ignored.")
    mapping = models.JSONField(null=True, help_text="The column mapping of the user; null to detect columns by name.")
    problem = MessageField()
    reading_note = MessageField(db_default="", help_text="How the file is read, such as the name of the sheet.")
    refused_file = models.CharField(
        max_length=200, blank=True, db_default="", help_text="The path of the file with the refused rows."
    )
    claim = models.UUIDField(null=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    personal_fields = ("name", "unknown", "mapping", "problem", "reading_note")
    non_personal_fields = ("digest", "key", "actor", "counts", "passed_over", "encoding", "refused_file")

    class Meta:
        verbose_name = gettext_lazy("import")
        verbose_name_plural = gettext_lazy("imports")
        db_table = "imports_exports_import"
        ordering = ("-id",)
        indexes = (models.Index(fields=("shop", "digest"), name="orders_import_by_digest"),)

    def __str__(self) -> str:
        return self.name

    @property
    def event_label(self) -> Message:
        """Return the label in the audit log. The label has no file name, which may contain personal data."""
        return _IMPORT_LABEL(number=self.pk)

    @property
    def path(self) -> str:
        return f"{IMPORTS}/{self.shop_id}/{self.key}.{self.format}"

    @property
    def has_table(self) -> bool:
        return self.format in TABLES

    @property
    def has_guessed_encoding(self) -> bool:
        """Return True if the encoding can't be detected reliably."""
        return self.encoding not in {Encoding.UTF8, Encoding.UTF16}

    def create_refused_path(self) -> str:
        """Return a new path for the file with the refused rows, which no other writer uses."""
        return f"{IMPORTS}/{self.shop_id}/{self.key}-{secrets.token_hex(8)}.{self.format}"


class SavedMapping(ShopOwned):
    """A column mapping that staff saved under a name, to use it again for files with the same columns.

    ``mapping`` has the format of ``Import.mapping``. ``fingerprint`` identifies the columns of the file.
    """

    name = models.CharField(gettext_lazy("name"), max_length=100)
    mapping = models.JSONField(gettext_lazy("mapping"))
    fingerprint = models.CharField(max_length=64, editable=False)

    personal_fields = ("name", "mapping")
    non_personal_fields = ("fingerprint",)

    class Meta:
        verbose_name = gettext_lazy("saved column mapping")
        verbose_name_plural = gettext_lazy("saved column mappings")
        db_table = "imports_exports_savedmapping"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "name"),
                name="imports_exports_savedmapping_name_unique",
                violation_error_message=TAKEN,
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def event_label(self) -> Message:
        """Return the label in the audit log, without the name, which may contain personal data."""
        return _MAPPING_LABEL(number=self.pk)


class ImportedRow(ShopOwned):
    """The result of one row of a file, or in a dry run (``dry``) the expected result.

    ``source_key`` identifies the imported order in its source system, so that no order is imported twice.
    """

    # URL of the object's page, set by views.
    link = ""

    class Fate(models.TextChoices):
        NEW = "new", gettext_lazy("New")
        CHANGED = "changed", gettext_lazy("Changed")
        SKIPPED = "skipped", gettext_lazy("Skipped")
        FAILED = "failed", gettext_lazy("Failed")

    file = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="fates", verbose_name=gettext_lazy("file"))
    line = models.PositiveIntegerField(
        gettext_lazy("line"), help_text=gettext_lazy("Line number in the file, starting at 1.")
    )
    dry = models.BooleanField(default=False, help_text="True for results of the validation.")
    kind = models.CharField(gettext_lazy("kind"), max_length=9, blank=True)
    fate = models.CharField(gettext_lazy("result"), max_length=7, choices=Fate)
    label = models.CharField(gettext_lazy("label"), max_length=255, blank=True)
    reason = MessageField(gettext_lazy("reason"))
    source_key = models.CharField(max_length=300, blank=True)
    changes = models.JSONField(default=list, help_text="Field, old value and new value, for the preview.")

    personal_fields = ("label", "reason", "source_key", "changes")
    non_personal_fields = ("kind",)

    class Meta:
        verbose_name = gettext_lazy("imported row")
        verbose_name_plural = gettext_lazy("imported rows")
        db_table = "imports_exports_importedrow"
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
        return translate(resource_labels.get(self.kind, self.kind))
