"""Imports of stores with the progress of their streams, the map of IDs, and the objects that were not imported."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import Message, MessageField, define_message
from apps.core.tenancy.shop_owned import ShopOwned

_LABEL = define_message("store_imports.label", "Store import {number}")


class StoreImport(ShopOwned):
    """The import of a store from another installation. A shop has one for each address that it imports from.

    The process that runs the import holds the lease ``claim`` until ``claimed_until``, by the clock of the database.
    Only imports that run in the background store an access token (``StoreConnection``).

    ``pass_started_at`` is the start of the current or last pass over the streams, and ``complete_since`` the start of
    the last complete pass, both by the store's clock. A pass with ``changed_since`` only reads what has changed since
    then. An import with ``ended_at`` reads nothing more, because the shop has replaced the store.
    """

    class State(models.TextChoices):
        RUNNING = "running", gettext_lazy("Running")
        DONE = "done", gettext_lazy("Done")

    source_url = models.CharField(gettext_lazy("address"), max_length=300)
    state = models.CharField(gettext_lazy("status"), max_length=7, choices=State, default=State.RUNNING)
    claim = models.UUIDField(null=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)
    pass_started_at = models.DateTimeField(null=True, editable=False)
    changed_since = models.DateTimeField(null=True, editable=False)
    complete_since = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(gettext_lazy("ended at"), null=True)

    non_personal_fields = ("source_url",)

    class Meta:
        verbose_name = gettext_lazy("store import")
        verbose_name_plural = gettext_lazy("store imports")
        ordering = ("-id",)
        constraints = (models.UniqueConstraint(fields=("shop", "source_url"), name="store_imports_one_per_address"),)

    def __str__(self) -> str:
        return self.event_label.localize()

    @property
    def event_label(self) -> Message:
        return _LABEL(number=self.pk)


class StreamState(ShopOwned):
    """The progress of one stream of an import, such as the products: its position, and the objects by result."""

    store_import = models.ForeignKey(StoreImport, on_delete=models.CASCADE, related_name="streams", db_index=False)
    name = models.CharField(max_length=30)
    position = models.BigIntegerField(
        default=0, help_text="The ID in the source of the last object that was processed in this run."
    )
    total = models.PositiveIntegerField(null=True, help_text="The number of objects in the source, if it is known.")
    new = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(
        default=0, db_default=0, help_text="How long reading and writing has taken in this run."
    )
    finished_at = models.DateTimeField(null=True)

    non_personal_fields = ("name",)

    class Meta:
        verbose_name = gettext_lazy("stream of a store import")
        verbose_name_plural = gettext_lazy("streams of store imports")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("store_import", "name"), name="store_imports_stream_once_per_import"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def done(self) -> int:
        return self.new + self.changed + self.unchanged + self.failed


class MappedId(ShopOwned):
    """The ID of an object in the source, and the ID of the object that was imported from it.

    ``digest`` is a hash of the source object when it was last imported completely, or blank to import it again. It is
    ``KEPT`` if the store has deleted the object, and this shop keeps it.
    """

    KEPT = "kept"

    store_import = models.ForeignKey(StoreImport, on_delete=models.CASCADE, related_name="mapped_ids", db_index=False)
    resource = models.CharField(max_length=30)
    source_id = models.BigIntegerField()
    target_id = models.BigIntegerField()
    digest = models.CharField(max_length=64, blank=True)

    non_personal_fields = ("resource", "digest")

    class Meta:
        verbose_name = gettext_lazy("mapped ID")
        verbose_name_plural = gettext_lazy("mapped IDs")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("store_import", "resource", "source_id"), name="store_imports_source_id_once"
            ),
        )
        indexes = (models.Index(fields=("store_import", "resource", "target_id"), name="store_imports_by_target"),)

    def __str__(self) -> str:
        return f"{self.resource} {self.source_id}"


class ImportProblem(ShopOwned):
    """An object that was not imported, or not completely, with the reason. The last result of an object counts."""

    store_import = models.ForeignKey(StoreImport, on_delete=models.CASCADE, related_name="problems", db_index=False)
    stream = models.CharField(max_length=30)
    source_id = models.BigIntegerField()
    is_failure = models.BooleanField(help_text="False if the object was imported, but something is missing.")
    reason = MessageField()

    personal_fields = ("reason",)
    non_personal_fields = ("stream",)

    class Meta:
        verbose_name = gettext_lazy("problem of a store import")
        verbose_name_plural = gettext_lazy("problems of store imports")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("store_import", "stream", "source_id"), name="store_imports_one_problem_per_object"
            ),
        )

    def __str__(self) -> str:
        return f"{self.stream} {self.source_id}"
