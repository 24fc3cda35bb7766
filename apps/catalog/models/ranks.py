"""Sort columns of products that change with inventory and orders."""

from django.db import models

from apps.ground.sort_tables import Rank, sort_table_key


class ProductRank(Rank):
    """The time of a product's last update and its units sold, in a narrow table that is cheap to index."""

    of = sort_table_key("catalog.Product")
    updated_at = models.DateTimeField()
    units_sold = models.PositiveBigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=("shop", "updated_at", "of"), name="catalog_rank_by_update"),
            models.Index(fields=("shop", "-units_sold", "of"), name="catalog_rank_best_selling"),
        )
