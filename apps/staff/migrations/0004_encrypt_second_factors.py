"""Encrypt the secrets of second factors, which were stored as plain text.

There are at most two rows per user. The reverse migration decrypts them.
"""

from collections.abc import Callable
from typing import Any

from django.db import migrations

from apps.shops.models.encrypted_fields import decrypt, encrypt, is_encrypted


def encrypt_all(apps: Any, schema_editor: Any) -> None:
    _rewrite(apps, lambda text: text if is_encrypted(text) else encrypt(text))


def decrypt_all(apps: Any, schema_editor: Any) -> None:
    _rewrite(apps, lambda text: decrypt(text) if is_encrypted(text) else text)


def _rewrite(apps: Any, change: Callable[[str], str]) -> None:
    for row in apps.get_model("mfa", "Authenticator").objects.select_for_update():
        for name in ("secret", "seed"):
            if name in row.data:
                row.data[name] = change(row.data[name])
        if "migrated_codes" in row.data:
            row.data["migrated_codes"] = [change(code) for code in row.data["migrated_codes"]]
        row.save(update_fields=["data"])


class Migration(migrations.Migration):
    dependencies = [("staff", "0003_sent_forms"), ("mfa", "0003_authenticator_type_uniq")]

    operations = [migrations.RunPython(encrypt_all, decrypt_all)]
