"""Panel pages for background jobs."""

from apps.jobs.admin.jobs import JobAdmin

__all__ = ["JobAdmin"]
