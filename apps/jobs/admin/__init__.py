"""The staff face of background work."""

from apps.jobs.admin.jobs import JobAdmin

__all__ = ["JobAdmin"]
