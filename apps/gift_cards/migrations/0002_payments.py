import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gift_cards', '0001_initial'),
        ('orders', '0011_index_other_names'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='giftcardadjustment',
            name='gift_cards_adjustment_begins_with_value',
        ),
        migrations.AddField(
            model_name='giftcard',
            name='user_id',
            field=models.BigIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='giftcardadjustment',
            name='kind',
            field=models.CharField(choices=[('adjustment', 'Adjustment'), ('redemption', 'Redemption'), ('release', 'Release'), ('refund', 'Refund')], default='adjustment', editable=False, max_length=10),
        ),
        migrations.AddField(
            model_name='giftcardadjustment',
            name='transaction',
            field=models.ForeignKey(blank=True, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='gift_card_adjustments', to='orders.transaction'),
        ),
        migrations.AddField(
            model_name='giftcardadjustment',
            name='user_id',
            field=models.BigIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name='giftcardadjustment',
            constraint=models.CheckConstraint(condition=models.Q(('number__gt', 1), models.Q(('balance', models.F('amount')), ('kind', 'adjustment'), ('number', 1)), _connector='OR'), name='gift_cards_adjustment_begins_with_value', violation_error_code='amount'),
        ),
        migrations.AddConstraint(
            model_name='giftcardadjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'adjustment'), ('transaction', None)), models.Q(('amount__lt', 0), ('kind', 'redemption')), models.Q(('amount__gt', 0), ('kind__in', ('release', 'refund'))), _connector='OR'), name='gift_cards_adjustment_fits_its_kind', violation_error_code='amount'),
        ),
        migrations.AddConstraint(
            model_name='giftcardadjustment',
            constraint=models.UniqueConstraint(condition=models.Q(('transaction__isnull', False)), fields=('transaction', 'kind'), name='gift_cards_adjustment_once_per_transaction'),
        ),
    ]
