from django.apps import AppConfig


class RefundsConfig(AppConfig):
    name = "apps.refunds"
