"""The jobs app: background work as database rows."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Connects jobs with the broker, and registers cleanup and consistency checks."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Connect jobs with Celery and register the cleanup."""
        import uuid

        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.privacy import NON_PERSONAL_COLUMNS

        declare_non_personal(NON_PERSONAL_COLUMNS)
        from apps.jobs.domain import broker_circuit_breaker, consistency_checks, cross_shop_check, housekeeping, queue

        def notify(*keys: uuid.UUID) -> None:
            # Importing Celery takes half a second, which a web process should not spend before its first response.
            from backoffice.celery import run_job

            run_job.apply_async(args=tuple(map(str, keys)), ignore_result=True)

        queue.set_notifier(broker_circuit_breaker.BrokerCircuitBreaker(notify))
        housekeeping.register_hourly_task("finished jobs", housekeeping.delete_finished_jobs)
        consistency_checks.register_consistency_check(
            "rows of other shops", cross_shop_check.find_cross_shop_references
        )
