"""Plain models for the product's tables, with the columns that requests and responses need.

All other columns have the defaults of the product's models (``benchmarks.bulk_insert.set_column_defaults``).
"""

import time
import uuid

from django.db import models


class Token(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    shop_id = models.BigIntegerField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "shops_accesstoken"


class Customer(models.Model):
    shop_id = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    first_name = models.CharField(max_length=255, blank=True)
    last_name = models.CharField(max_length=255, blank=True)
    email = models.EmailField(max_length=255, blank=True)
    email_key = models.CharField(max_length=320, blank=True)
    phone = models.CharField(max_length=20, blank=True)
    verified_email = models.BooleanField(default=False)
    state = models.CharField(max_length=10, default="disabled")
    note = models.TextField(blank=True)
    tags = models.TextField(blank=True)
    tax_exempt = models.BooleanField(default=False)
    tax_exemptions = models.JSONField(default=list)
    multipass_identifier = models.CharField(max_length=255, blank=True)
    search_text = models.TextField(blank=True)
    search_own = models.TextField(blank=True)
    search_places = models.TextField(blank=True)
    default_address = models.ForeignKey("Address", models.SET_NULL, null=True, related_name="+")
    orders_count = models.PositiveIntegerField(default=0)
    total_spent = models.DecimalField(max_digits=20, decimal_places=3, default=0)
    last_order_id = models.BigIntegerField(null=True)
    last_order_name = models.CharField(max_length=255, blank=True)
    last_order_currency = models.CharField(max_length=3, blank=True)
    email_marketing_state = models.CharField(max_length=20, default="not_subscribed")
    email_marketing_opt_in_level = models.CharField(max_length=20, default="single_opt_in")
    email_marketing_updated_at = models.DateTimeField(null=True)
    sms_marketing_state = models.CharField(max_length=20, default="not_subscribed")
    sms_marketing_opt_in_level = models.CharField(max_length=20, default="single_opt_in")
    sms_marketing_updated_at = models.DateTimeField(null=True)
    sms_marketing_collected_from = models.CharField(max_length=50, default="OTHER")
    version = models.BigIntegerField(default=time.time_ns)

    class Meta:
        managed = False
        db_table = "customers_customer"


class Address(models.Model):
    shop_id = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="addresses")
    first_name = models.CharField(max_length=255, blank=True)
    last_name = models.CharField(max_length=255, blank=True)
    company = models.CharField(max_length=255, blank=True)
    address1 = models.CharField(max_length=255, blank=True)
    address2 = models.CharField(max_length=255, blank=True)
    city = models.CharField(max_length=255, blank=True)
    province = models.CharField(max_length=255, blank=True)
    province_code = models.CharField(max_length=10, blank=True)
    country = models.CharField(max_length=255, blank=True)
    country_code = models.CharField(max_length=2, blank=True, default="SE")
    zip = models.CharField(max_length=255, blank=True)
    phone = models.CharField(max_length=255, blank=True)

    class Meta:
        managed = False
        db_table = "customers_address"


class Event(models.Model):
    shop_id = models.BigIntegerField()
    topic = models.CharField(max_length=100)
    subject_type = models.CharField(max_length=60)
    subject_id = models.BigIntegerField()
    subject_label = models.CharField(max_length=255)
    actor = models.CharField(max_length=100)
    group = models.UUIDField(default=uuid.uuid4)

    class Meta:
        managed = False
        db_table = "events_event"
