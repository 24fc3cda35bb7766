"""Holding the root of an aggregate, so that its parts have one writer at a time."""

from django.db import models

from apps.ground.errors import Gone
from apps.ground.rows import M


def locked(model: type[M], pk: object, *, no_key: bool = False) -> M:
    """The row as it is now, held until the transaction ends; on SQLite writers wait for each other anyway.

    Args:
        model: Whose row; a shop's one is looked up in the current shop.
        pk: Its primary key.
        no_key: Whether rows that refer to it may still be added meanwhile.

    Raises:
        Gone: It was deleted meanwhile.
    """
    rows: models.Manager[M] = model._default_manager
    row = rows.select_for_update(no_key=no_key).filter(pk=pk).first()
    if row is None:
        raise Gone
    return row
