from django.apps import AppConfig


class BackgroundJobsConfig(AppConfig):
    name = "apps.background_jobs"
