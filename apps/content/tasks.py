"""Background tasks for the content app."""

from django.utils.translation import gettext_lazy

from apps.content.domain import blob_store, theme_extraction, themes
from apps.jobs.domain import housekeeping, queue


def register_content_tasks() -> None:
    """Register the task that installs theme files, and the cleanup of unused blobs."""
    queue.register_task(
        themes.EXTRACT_TASK,
        theme_extraction.extract_theme,
        gettext_lazy("Install theme files"),
        on_give_up=theme_extraction.record_extraction_failure,
    )
    housekeeping.register_hourly_task("file contents", blob_store.delete_unused_blobs)
