"""Background jobs for webhooks: replays and erasure requests. ``engine.dispatcher`` sends deliveries without jobs."""

from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.webhooks.domain import privacy, replay


@job_task(
    privacy.SEND_SHOP_REDACT,
    title=gettext_lazy("Data erasure request to an app"),
    former_names=("webhooks.tell_shop_redact",),
)
def send_shop_redact(job: Job, *, installation_id: int) -> None:
    privacy.send_shop_redact(job, installation_id=installation_id)


@job_task(
    replay.REPLAY_JOB,
    title=gettext_lazy("Replaying webhook deliveries"),
    former_names=("webhooks.recover",),
)
def replay_deliveries(
    job: Job,
    *,
    subscription_id: int,
    since: str | None = None,
    until: str | None = None,
    states: list[str] | None = None,
) -> None:
    replay.run_replay_job(job, subscription_id=subscription_id, since=since, until=until, states=states)
