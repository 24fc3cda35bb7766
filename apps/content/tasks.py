from django.utils.translation import gettext_lazy

from apps.content.domain import theme_extraction, themes
from apps.core.jobs.queue import Task, tasks

tasks.register(
    themes.EXTRACT_TASK,
    Task(
        theme_extraction.extract_theme,
        gettext_lazy("Install theme files"),
        on_give_up=theme_extraction.record_extraction_failure,
    ),
)
