"""Rebuild the search columns of existing customers in batches, each in its own transaction.

The old indexes are dropped first, so that PostgreSQL does not maintain them during the updates.
"""

from django.db import migrations, transaction

from apps.customers.domain import search_columns

BATCH = 2_000
REWRITE = "UPDATE customers_customer SET search_text = %s, search_own = %s, search_places = %s WHERE id = %s"
OLD = ("customers_customer_search", "customers_address_search")


def renew(apps, schema_editor):
    Customer, Address = apps.get_model("customers", "Customer"), apps.get_model("customers", "Address")
    connection = schema_editor.connection
    if connection.vendor == "postgresql":
        for name in OLD:
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
    last = 0
    while rows := list(Customer.objects.filter(pk__gt=last).order_by("pk")[:BATCH]):
        last = rows[-1].pk
        places = {}
        addresses = Address.objects.filter(customer_id__gte=rows[0].pk, customer_id__lte=last).order_by("customer_id", "pk")
        for customer_id, *place in addresses.values_list("customer_id", *search_columns.ADDRESS_COLUMNS):
            places.setdefault(customer_id, []).append(dict(zip(search_columns.ADDRESS_COLUMNS, place)))
        for row in rows:
            search_columns.rebuild_search_columns(row, places.get(row.pk, []))
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.executemany(
                REWRITE, [(row.search_text, row.search_own, row.search_places, row.pk) for row in rows]
            )


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("customers", "0005_search_columns"),
    ]

    operations = [
        migrations.RunPython(renew, migrations.RunPython.noop),
    ]
