"""The jobs app: background work kept in rows."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Tells the jobs how to ring the broker, and the housekeeping what to clear."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Connect jobs with Celery."""
        import uuid

        from apps.ground.personal import impersonal
        from apps.jobs.impersonal import IMPERSONAL

        impersonal(IMPERSONAL)
        from apps.jobs.domain import bells, housekeeping, queue, reconciliation, strangers

        def doorbell(*keys: uuid.UUID) -> None:
            # Celery takes half a second to import, which a web process need not spend before its first answer.
            from backoffice.celery import run_job

            run_job.apply_async(args=tuple(map(str, keys)), ignore_result=True)

        queue.use_doorbell(bells.PatientBell(doorbell))
        housekeeping.register("finished jobs", housekeeping.clear_finished_jobs)
        reconciliation.register("rows of other shops", strangers.strangers)
