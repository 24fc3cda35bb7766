"""Writes the search columns of the customers that are there; by batches, each in a transaction of its own.

The index of the old columns goes first, so that PostgreSQL does not keep it up to date for nothing.
"""

from django.db import migrations, transaction

from apps.customers.domain import search_text

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
        for customer_id, *place in addresses.values_list("customer_id", *search_text.PLACE):
            places.setdefault(customer_id, []).append(dict(zip(search_text.PLACE, place)))
        for row in rows:
            search_text.renew(row, places.get(row.pk, []))
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
