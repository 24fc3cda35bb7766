"""Whether a database session is ours for longer than a transaction."""

from django.db import DEFAULT_DB_ALIAS, connections


def are_shared(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether a pooler may give us another session after each transaction, and ours to somebody else.

    What a session keeps (``SET``, ``LISTEN``) is then lost for us, and found by whoever gets that session next.
    """
    return bool(connections[alias].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))
