"""App configuration for fulfillment."""

from django.apps import AppConfig


class FulfillmentConfig(AppConfig):
    name = "apps.fulfillment"
