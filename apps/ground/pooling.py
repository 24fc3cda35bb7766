"""Connection pooling: check if a database session outlives a transaction."""

from django.db import DEFAULT_DB_ALIAS, connections


def uses_transaction_pooling(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True if a pooler may assign another session after each transaction.

    Session state (``SET``, ``LISTEN``) is then lost, and leaks to the next client of that session.
    """
    return bool(connections[alias].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))
