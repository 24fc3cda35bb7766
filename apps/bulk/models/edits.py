"""Bulk edits: which rows, what is done to each, and what became of it."""

from django.db import models
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django_stubs_ext import StrOrPromise

from apps.ground.retelling import names, number
from apps.ground.rows import ShopOwned

_NAMED = names(gettext_noop("{kind}, bulk edit {number}"), kind=gettext, number=number)
# What people call the kinds of rows, by name; filled where kinds are registered.
LABELS: dict[str, StrOrPromise] = {}


class BulkEdit(ShopOwned):
    """Rows that somebody chose, and what is to be done to each of them.

    Which rows is decided once, when they are chosen; what would become of the first of them is kept when it is looked
    at, and what became of each when it was done.
    """

    class State(models.TextChoices):
        DRAFT = "draft", gettext_lazy("Being prepared")
        RUNNING = "running", gettext_lazy("Under way")
        DONE = "done", gettext_lazy("Done")
        STOPPED = "stopped", gettext_lazy("Stopped")
        FAILED = "failed", gettext_lazy("Failed")
        UNDOING = "undoing", gettext_lazy("Being undone")
        UNDONE = "undone", gettext_lazy("Undone")

    kind = models.CharField(max_length=9)
    ids = models.JSONField(gettext_lazy("ids"), default=list, help_text=gettext_lazy("Of the rows, ascending."))
    operations = models.JSONField(default=dict, help_text="By field: what is done to it.")
    state = models.CharField(gettext_lazy("state"), max_length=7, choices=State, default=State.DRAFT)
    actor = models.CharField(max_length=100)
    total = models.PositiveIntegerField(gettext_lazy("total"), default=0)
    problem = models.CharField(max_length=500, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    class Meta:
        verbose_name = gettext_lazy("bulk edit")
        verbose_name_plural = gettext_lazy("bulk edits")
        ordering = ("-id",)
        indexes = (models.Index(fields=("shop", "-id"), name="bulk_bulkedit_by_shop"),)

    def __str__(self) -> str:
        return gettext(_NAMED).format(kind=self.kind_label, number=self.pk)

    @property
    def kind_label(self) -> str:
        """What people call its kind."""
        return str(LABELS.get(self.kind, self.kind))


class EditedRow(ShopOwned):
    """What became of one row, or (``dry``) would become of it.

    ``before`` is what an undo puts back, and ``mark`` what the row was marked by after the change: as long as it still
    has it, nobody has changed the row since.
    """

    class Fate(models.TextChoices):
        CHANGED = "changed", gettext_lazy("Changed")
        SAME = "same", gettext_lazy("Was so already")
        REFUSED = "refused", gettext_lazy("Refused")
        UNDONE = "undone", gettext_lazy("Put back")
        KEPT = "kept", gettext_lazy("Not put back")

    edit = models.ForeignKey(BulkEdit, on_delete=models.CASCADE, related_name="rows_of_it")
    row_id = models.BigIntegerField(gettext_lazy("row id"))
    dry = models.BooleanField(default=False)
    fate = models.CharField(gettext_lazy("fate"), max_length=7, choices=Fate)
    label = models.CharField(max_length=255, blank=True)
    reason = models.CharField(gettext_lazy("reason"), max_length=1000, blank=True)
    changes = models.JSONField(
        gettext_lazy("changes"), default=list, help_text=gettext_lazy("For people: field, old value and new one.")
    )
    before = models.JSONField(default=dict, help_text="By field: what stood there.")
    mark = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name = gettext_lazy("edited row")
        verbose_name_plural = gettext_lazy("edited rows")
        ordering = ("row_id",)
        constraints = (models.UniqueConstraint(fields=("edit", "dry", "row_id"), name="bulk_editedrow_once"),)
        indexes = (
            models.Index(fields=("edit", "dry", "fate", "row_id"), name="bulk_editedrow_by_fate"),
            models.Index(fields=("shop", "row_id"), name="bulk_editedrow_by_row"),
        )

    def __str__(self) -> str:
        return f"{self.row_id}: {self.get_fate_display()}"
