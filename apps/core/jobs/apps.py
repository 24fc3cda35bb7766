"""App configuration for background jobs."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "apps.core.jobs"
