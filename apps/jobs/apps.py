"""App configuration for background jobs."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Connects jobs to the broker, and registers the cleanup and consistency checks."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Connect jobs to Celery, and register the cleanup and consistency checks."""
        import uuid

        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.privacy import NON_PERSONAL_COLUMNS

        declare_non_personal(NON_PERSONAL_COLUMNS)
        from apps.jobs.domain import broker_circuit_breaker, consistency_checks, cross_shop_check, housekeeping, queue

        def notify(*keys: uuid.UUID) -> None:
            # Import Celery late. The import takes half a second and would delay the first response of a web process.
            from backoffice.celery import run_job

            run_job.apply_async(args=tuple(map(str, keys)), ignore_result=True)

        queue.set_notifier(broker_circuit_breaker.BrokerCircuitBreaker(notify))
        housekeeping.register_hourly_task("finished jobs", housekeeping.delete_finished_jobs)
        consistency_checks.register_consistency_check(
            "rows of other shops", cross_shop_check.find_cross_shop_references
        )
