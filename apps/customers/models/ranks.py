"""By what customers are ranked that moves with every order and every change."""

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
