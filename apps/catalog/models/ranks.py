"""By what products are ranked that moves with every change of stock and every order."""

from django.db import models

from apps.ground.ranks import Rank, rank_of


class ProductRank(Rank):
    """When a product last changed, and how many units of it were sold."""

    of = rank_of("catalog.Product")
    updated_at = models.DateTimeField()
    units_sold = models.PositiveBigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=("shop", "updated_at", "of"), name="catalog_rank_by_update"),
            models.Index(fields=("shop", "-units_sold", "of"), name="catalog_rank_best_selling"),
        )
