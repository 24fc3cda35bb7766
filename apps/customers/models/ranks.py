"""What of customers is indexed beside them: what moves with orders, what with the person, and what searches find."""

from django.db import models

from apps.ground.ranks import Rank, rank_of


class CustomerRank(Rank):
    """When a customer last changed, and what the customer bought."""

    of = rank_of("customers.Customer")
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
    """What lists are sorted and narrowed by that a change of the person moves, and no order does."""

    of = rank_of("customers.Customer", "profile")
    first_name = models.CharField(max_length=255)
    last_name = models.CharField(max_length=255)
    email_key = models.CharField(max_length=320)
    email_marketing_state = models.CharField(max_length=20)

    class Meta:
        indexes = (
            models.Index(fields=("shop", "last_name", "of"), name="customers_profile_by_name"),
            models.Index(fields=("shop", "first_name", "of"), name="customers_profile_by_first"),
            models.Index(fields=("shop", "email_key", "of"), name="customers_profile_by_email"),
            models.Index(fields=("shop", "email_marketing_state", "of"), name="customers_profile_by_consent"),
        )


class CustomerWords(Rank):
    """What searches find of a customer; the index over it is PostgreSQL's, which alone keeps this table.

    So a change of a customer that searches find alike, and the default address of a new one, leave that index alone,
    and where other words come, no other index learns of them. SQLite has its full-text index over the customers.
    """

    kept_on = frozenset({"postgresql"})
    sorts = False
    of = rank_of("customers.Customer", "words")
    search_text = models.TextField()
    search_own = models.TextField()
    search_places = models.TextField()
