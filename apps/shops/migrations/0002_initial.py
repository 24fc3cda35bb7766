import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
        ("staff", "__first__"),
    ]

    operations = [
        migrations.AddField(
            model_name="accesstoken",
            name="user",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="authorizationcode",
            name="app",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.app", verbose_name="app"
            ),
        ),
        migrations.AddField(
            model_name="authorizationcode",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="installation",
            name="app",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="installations",
                to="shops.app",
                verbose_name="app",
            ),
        ),
        migrations.AddField(
            model_name="apppurchase",
            name="installation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="purchases",
                to="shops.installation",
                verbose_name="installation",
            ),
        ),
        migrations.AddField(
            model_name="accesstoken",
            name="installation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tokens",
                to="shops.installation",
                verbose_name="installation",
            ),
        ),
        migrations.AddField(
            model_name="retiringsecret",
            name="app",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="retiring_secrets",
                to="shops.app",
                verbose_name="app",
            ),
        ),
        migrations.AddField(
            model_name="installation",
            name="shop",
            field=models.ForeignKey(
                editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
            ),
        ),
        migrations.AddField(
            model_name="authorizationcode",
            name="shop",
            field=models.ForeignKey(
                editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
            ),
        ),
        migrations.AddField(
            model_name="apppurchase",
            name="shop",
            field=models.ForeignKey(
                editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
            ),
        ),
        migrations.AddField(
            model_name="app",
            name="owner",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="shops.shop",
            ),
        ),
        migrations.AddField(
            model_name="accesstoken",
            name="shop",
            field=models.ForeignKey(
                editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
            ),
        ),
        migrations.AddConstraint(
            model_name="installation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("uninstalled_at", None)),
                fields=("shop", "app"),
                name="shops_installation_one_active_per_shop_and_app",
                violation_error_message="has already been taken",
            ),
        ),
        migrations.AddIndex(
            model_name="apppurchase",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["created_at"], name="shops_apppurchase_waiting"
            ),
        ),
        migrations.AddConstraint(
            model_name="apppurchase",
            constraint=models.CheckConstraint(
                condition=models.Q(("price__gte", 0)),
                name="shops_apppurchase_price_not_negative",
                violation_error_code="price",
                violation_error_message="must be greater than or equal to 0",
            ),
        ),
        migrations.AddConstraint(
            model_name="apppurchase",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at", None), ("status", "pending")),
                    models.Q(models.Q(("status", "pending"), _negated=True), ("decided_at__isnull", False)),
                    _connector="OR",
                ),
                name="shops_apppurchase_is_decided_once",
                violation_error_code="status",
            ),
        ),
    ]
