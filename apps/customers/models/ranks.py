"""Narrow tables for the sort and search indexes of customers."""

from django.db import models

from apps.core.db.sort_tables import Rank, sort_table_key


class CustomerRank(Rank):
    of = sort_table_key("customers.Customer")
    updated_at = models.DateTimeField()
    last_order_at = models.DateTimeField()
    orders_count = models.PositiveIntegerField()
    total_spent = models.DecimalField(max_digits=20, decimal_places=3)

    class Meta:
        indexes = (
            models.Index(fields=("shop", "updated_at", "of"), name="customers_rank_by_update"),
            models.Index(fields=("shop", "last_order_at", "of"), name="customers_rank_by_last_order"),
            models.Index(fields=("shop", "orders_count", "of"), name="customers_rank_by_orders"),
            models.Index(fields=("shop", "total_spent", "of"), name="customers_rank_by_spending"),
        )


class CustomerProfile(Rank):
    of = sort_table_key("customers.Customer", "profile")
    first_name = models.CharField(max_length=255)
    last_name = models.CharField(max_length=255)
    email_key = models.CharField(max_length=320)
    email_marketing_state = models.CharField(max_length=20)

    personal_fields = ("first_name", "last_name", "email_key")
    non_personal_fields = ("email_marketing_state",)

    class Meta:
        indexes = (
            models.Index(fields=("shop", "last_name", "of"), name="customers_profile_by_name"),
            models.Index(fields=("shop", "first_name", "of"), name="customers_profile_by_first"),
            models.Index(fields=("shop", "email_key", "of"), name="customers_profile_by_email"),
            models.Index(fields=("shop", "email_marketing_state", "of"), name="customers_profile_by_consent"),
        )


class CustomerWords(Rank):
    """The search columns of a customer, with a trigram index. Only used on PostgreSQL.

    In their own table, the columns do not touch the indexes of the customers table, and other updates do not touch the
    trigram index.
    """

    used_on = frozenset({"postgresql"})
    is_for_lists = False
    of = sort_table_key("customers.Customer", "words")
    search_text = models.TextField()
    search_own = models.TextField()
    search_places = models.TextField()

    personal_fields = ("search_text", "search_own", "search_places")
