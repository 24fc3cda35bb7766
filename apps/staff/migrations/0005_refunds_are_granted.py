from django.db import migrations


def grant(apps, schema_editor):
    """Grant ``refund_orders`` to staff who could previously refund with ``edit_orders``."""
    memberships = apps.get_model("staff", "Membership")._base_manager
    for row in memberships.order_by("pk").iterator(chunk_size=1000):
        if "edit_orders" in row.permissions and "refund_orders" not in row.permissions:
            memberships.filter(pk=row.pk).update(permissions=sorted([*row.permissions, "refund_orders"]))


def withdraw(apps, schema_editor):
    """Remove the permission name, which the previous release does not know."""
    memberships = apps.get_model("staff", "Membership")._base_manager
    for row in memberships.order_by("pk").iterator(chunk_size=1000):
        if "refund_orders" in row.permissions:
            remaining = [name for name in row.permissions if name != "refund_orders"]
            memberships.filter(pk=row.pk).update(permissions=remaining)


class Migration(migrations.Migration):
    dependencies = [("staff", "0004_encrypt_second_factors")]

    operations = [migrations.RunPython(grant, withdraw)]
