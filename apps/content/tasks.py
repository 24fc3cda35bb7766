"""The background work of content."""

from django.utils.translation import gettext_lazy

from apps.content.domain import contents, extraction, themes
from apps.jobs.domain import housekeeping, queue


def register_all() -> None:
    """Add the tasks, and what housekeeping clears."""
    queue.register(
        themes.EXTRACT, extraction.extract_theme, gettext_lazy("Unpacking a theme"), on_give_up=extraction.give_up
    )
    housekeeping.register("file contents", contents.clear_unused)
