"""Bulk edits and the results of their rows."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import Message, MessageField, define_message, translate
from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned

_EDIT_LABEL = define_message("bulk_edits.bulk_edit", "{kind}, bulk edit {number}")
# Names of bulk edit targets that staff see.
target_labels = Registry[str, Message]("labels of bulk edit targets")


class BulkEdit(ShopOwned):
    """The rows that staff selected, which never change, and the operations to apply to each row."""

    class State(models.TextChoices):
        DRAFT = "draft", gettext_lazy("Preparing")
        RUNNING = "running", gettext_lazy("Running")
        DONE = "done", gettext_lazy("Done")
        STOPPED = "stopped", gettext_lazy("Stopped")
        FAILED = "failed", gettext_lazy("Failed")
        UNDOING = "undoing", gettext_lazy("Undoing")
        UNDONE = "undone", gettext_lazy("Undone")

    kind = models.CharField(max_length=9)
    ids = models.JSONField(gettext_lazy("IDs"), default=list, help_text=gettext_lazy("Row IDs in ascending order."))
    operations = models.JSONField(default=dict, help_text="Operations by field.")
    state = models.CharField(gettext_lazy("state"), max_length=7, choices=State, default=State.DRAFT)
    actor = models.CharField(max_length=100)
    total = models.PositiveIntegerField(gettext_lazy("total"), default=0)
    problem = MessageField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    personal_fields = ("operations",)
    non_personal_fields = ("kind", "ids", "actor", "problem")

    class Meta:
        verbose_name = gettext_lazy("bulk edit")
        verbose_name_plural = gettext_lazy("bulk edits")
        ordering = ("-id",)
        indexes = (models.Index(fields=("shop", "-id"), name="bulk_edits_bulkedit_by_shop"),)

    def __str__(self) -> str:
        return self.event_label.localize()

    @property
    def event_label(self) -> Message:
        return _EDIT_LABEL(kind=target_labels.get(self.kind, self.kind), number=self.pk)

    @property
    def kind_label(self) -> str:
        return translate(target_labels.get(self.kind, self.kind))


class EditedRow(ShopOwned):
    """The result for one row; in a preview (``dry``), the expected result.

    An undo restores ``before`` if the row still has the version ``mark``, which means that the row was not changed
    after the edit.
    """

    class Fate(models.TextChoices):
        CHANGED = "changed", gettext_lazy("Changed")
        SAME = "same", gettext_lazy("Unchanged")
        REFUSED = "refused", gettext_lazy("Rejected")
        UNDONE = "undone", gettext_lazy("Restored")
        KEPT = "kept", gettext_lazy("Not restored")

    edit = models.ForeignKey(BulkEdit, on_delete=models.CASCADE, related_name="rows_of_it")
    row_id = models.BigIntegerField(gettext_lazy("row ID"))
    dry = models.BooleanField(default=False)
    fate = models.CharField(gettext_lazy("result"), max_length=7, choices=Fate)
    label = models.CharField(max_length=255, blank=True)
    reason = MessageField(gettext_lazy("reason"))
    changes = models.JSONField(
        gettext_lazy("changes"), default=list, help_text=gettext_lazy("Field, old value and new value, for display.")
    )
    before = models.JSONField(default=dict, help_text="Old values by field.")
    mark = models.CharField(max_length=64, blank=True)

    personal_fields = ("label", "reason", "changes", "before")
    non_personal_fields = ("mark",)

    class Meta:
        verbose_name = gettext_lazy("edited row")
        verbose_name_plural = gettext_lazy("edited rows")
        ordering = ("row_id",)
        constraints = (models.UniqueConstraint(fields=("edit", "dry", "row_id"), name="bulk_edits_editedrow_once"),)
        indexes = (
            models.Index(fields=("edit", "dry", "fate", "row_id"), name="bulk_edits_editedrow_by_fate"),
            models.Index(fields=("shop", "row_id"), name="bulk_edits_editedrow_by_row"),
        )

    def __str__(self) -> str:
        return f"{self.row_id}: {self.get_fate_display()}"
