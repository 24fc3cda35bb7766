"""Background tasks for webhooks: replays and erasure requests. The dispatcher sends deliveries without tasks."""

from django.utils.translation import gettext_lazy

from apps.core.jobs.queue import Task, tasks
from apps.webhooks.domain import privacy, replay

tasks.register(
    privacy.SEND_SHOP_REDACT,
    Task(privacy.send_shop_redact, gettext_lazy("Data erasure request to an app")),
)
tasks.register(replay.REPLAY_JOB, Task(replay.run_replay_job, gettext_lazy("Replaying webhook deliveries")))
