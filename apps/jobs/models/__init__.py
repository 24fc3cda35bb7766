"""Models for background jobs."""

from apps.jobs.models.jobs import Job

__all__ = ["Job"]
