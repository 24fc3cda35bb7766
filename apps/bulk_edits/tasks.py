from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain import edits, runner
from apps.core.jobs.queue import Task, tasks

tasks.register(
    edits.RUN_TASK, Task(runner.run_edit_task, gettext_lazy("Bulk edit"), on_give_up=runner.mark_edit_failed)
)
tasks.register(
    edits.UNDO_TASK, Task(runner.run_undo_task, gettext_lazy("Undo a bulk edit"), on_give_up=runner.mark_edit_failed)
)
