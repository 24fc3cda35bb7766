from django.apps import AppConfig


class FulfillmentConfig(AppConfig):
    name = "apps.fulfillment"
