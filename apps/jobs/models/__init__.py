"""The jobs table."""

from apps.jobs.models.jobs import Job

__all__ = ["Job"]
