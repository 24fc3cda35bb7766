"""Detect connection pooling, because a pooler may assign another database session after each transaction."""

from django.db import DEFAULT_DB_ALIAS, connections


def uses_transaction_pooling(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True if a pooler may assign another session after each transaction.

    Session state (``SET``, ``LISTEN``) is then lost after a transaction, and leaks to other clients of the pooler.
    """
    return bool(connections[alias].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))
