"""Django app configuration for the demo."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "apps.demo"
