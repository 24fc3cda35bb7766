import apps.ground.case_folding
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0005_fixed_prices"),
    ]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="title_key",
            field=apps.ground.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
        ),
        migrations.AddField(
            model_name="product",
            name="product_type_key",
            field=apps.ground.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="product_type"),
        ),
        migrations.AddField(
            model_name="product",
            name="title_key",
            field=apps.ground.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
        ),
        migrations.AddField(
            model_name="product",
            name="vendor_key",
            field=apps.ground.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="vendor"),
        ),
        migrations.AddField(
            model_name="variant",
            name="title_key",
            field=apps.ground.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
        ),
    ]
