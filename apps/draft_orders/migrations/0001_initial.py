import apps.core.models
import apps.draft_orders.models.draft_orders
import apps.orders.models.bases
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.db import migrations, models

from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalog', '0006_index_image_keys'),
        ('customers', '0002_drop_shop_indexes'),
        ('orders', '0011_index_other_names'),
        ('shops', '0011_shop_shipping_taxed'),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name='DraftOrder',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('number', models.PositiveBigIntegerField(editable=False)),
                    ('name', models.CharField(editable=False, max_length=32, verbose_name='draft order')),
                    ('invoice_key', models.CharField(default=apps.draft_orders.models.draft_orders.new_invoice_key, editable=False, max_length=32)),
                    ('status', models.CharField(choices=[('open', 'Open'), ('invoice_sent', 'Invoice sent'), ('completed', 'Completed')], default='open', editable=False, max_length=12, verbose_name='status')),
                    ('invoice_sent_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='invoice sent at')),
                    ('completed_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='completed at')),
                    ('email', models.EmailField(blank=True, max_length=255, verbose_name='email')),
                    ('billing_address', models.JSONField(blank=True, null=True, verbose_name='billing address')),
                    ('shipping_address', models.JSONField(blank=True, null=True, verbose_name='shipping address')),
                    ('note', models.TextField(blank=True, max_length=5000, verbose_name='note')),
                    ('note_attributes', models.JSONField(blank=True, default=list)),
                    ('tags', models.TextField(blank=True, help_text='Separated by commas.', verbose_name='tags')),
                    ('currency', models.CharField(editable=False, max_length=3)),
                    ('presentment_currency', models.CharField(editable=False, max_length=3)),
                    ('exchange_rate', models.DecimalField(decimal_places=12, default=Decimal('1'), editable=False, max_digits=24)),
                    ('taxes_included', models.BooleanField(default=False, editable=False)),
                    ('tax_exempt', models.BooleanField(default=False, verbose_name='tax exempt')),
                    ('customer_tax_exempt', models.BooleanField(default=False, editable=False, help_text='Whether the customer was tax exempt at the last calculation.')),
                    ('applied_discount', models.JSONField(blank=True, editable=False, null=True)),
                    ('discount_codes', models.JSONField(default=list, editable=False, help_text='The codes as entered.')),
                    ('shipping_line', models.JSONField(blank=True, editable=False, null=True)),
                    ('total_line_items_price', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('total_discounts', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('subtotal_price', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('total_shipping_price', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('total_tax', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('total_price', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, max_digits=20)),
                    ('total_weight', models.PositiveBigIntegerField(default=0, editable=False, help_text='Grams.')),
                    ('presentment_totals', models.JSONField(default=dict, editable=False)),
                    ('discount_applications', models.JSONField(default=list, editable=False)),
                    ('tax_lines', models.JSONField(default=list, editable=False)),
                    ('version', apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    ('app', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='shops.app')),
                    ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='draft_orders', to='customers.customer', verbose_name='customer')),
                    ('order', models.OneToOneField(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='draft_order', to='orders.order')),
                    ('shop', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='shops.shop')),
                ],
                options={
                    'verbose_name': 'draft order',
                    'verbose_name_plural': 'draft orders',
                    'ordering': ('-id',),
                    'indexes': [models.Index(fields=['shop', 'id'], name='draft_orders_by_shop'), models.Index(fields=['shop', 'status', 'id'], name='draft_orders_by_status'), models.Index(fields=['shop', 'updated_at', 'id'], name='draft_orders_by_update')],
                    'constraints': [models.UniqueConstraint(fields=('shop', 'number'), name='draft_orders_number_is_unique'), models.UniqueConstraint(fields=('shop', 'invoice_key'), name='draft_orders_invoice_key_is_unique'), models.CheckConstraint(condition=models.Q(('subtotal_price__gte', 0), ('total_discounts__gte', 0), ('total_price__gte', 0), ('total_tax__gte', 0)), name='draft_orders_totals_not_negative', violation_error_code='total_price'), models.CheckConstraint(condition=models.Q(('exchange_rate__gt', 0)), name='draft_orders_rate_is_positive'), models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('status', 'completed')), models.Q(('completed_at', None), ('invoice_sent_at__isnull', False), ('order', None), ('status', 'invoice_sent')), models.Q(('completed_at', None), ('order', None), ('status', 'open')), _connector='OR'), name='draft_orders_status_fits_its_moments')],
                },
            ),
            migrations.CreateModel(
                name='DraftOrderCounter',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('last_number', models.PositiveBigIntegerField(default=0)),
                    ('shop', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='shops.shop')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('shop',), name='draft_orders_counter_one_per_shop')],
                },
            ),
            migrations.CreateModel(
                name='DraftOrderInvoice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('to_address', models.CharField(max_length=255)),
                    ('from_address', models.CharField(max_length=255)),
                    ('subject', models.CharField(max_length=255)),
                    ('custom_message', models.TextField(blank=True, max_length=5000)),
                    ('bcc', models.JSONField(default=list)),
                    ('sent_at', models.DateTimeField(editable=False, null=True)),
                    ('draft_order', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='invoices', to='draft_orders.draftorder')),
                    ('shop', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='shops.shop')),
                ],
                options={
                    'verbose_name': 'invoice of a draft order',
                    'verbose_name_plural': 'invoices of draft orders',
                    'ordering': ('-id',),
                },
            ),
            migrations.CreateModel(
                name='DraftOrderLine',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('position', models.PositiveIntegerField(default=0)),
                    ('title', models.CharField(max_length=255)),
                    ('variant_title', models.CharField(blank=True, max_length=800)),
                    ('name', models.CharField(max_length=1100)),
                    ('sku', models.CharField(blank=True, max_length=255, verbose_name='SKU')),
                    ('vendor', models.CharField(blank=True, max_length=255)),
                    ('grams', models.PositiveBigIntegerField(default=0)),
                    ('price', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, help_text='The price of one item, without discounts.', max_digits=20)),
                    ('quantity', models.PositiveIntegerField()),
                    ('applied_discount', models.JSONField(blank=True, null=True)),
                    ('discount', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, help_text='All discounts of the line item.', max_digits=20)),
                    ('tax', apps.orders.models.bases.MoneyColumn(decimal_places=3, default=Decimal('0'), editable=False, help_text='All taxes of the line item.', max_digits=20)),
                    ('tax_lines', models.JSONField(default=list)),
                    ('discount_allocations', models.JSONField(default=list)),
                    ('properties', models.JSONField(default=list)),
                    ('requires_shipping', models.BooleanField(default=True)),
                    ('taxable', models.BooleanField(default=True)),
                    ('gift_card', models.BooleanField(default=False)),
                    ('fulfillment_service', models.CharField(default='manual', max_length=255)),
                    ('draft_order', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='line_items', to='draft_orders.draftorder')),
                    ('product', models.ForeignKey(blank=True, null=True, on_delete=apps.orders.models.bases.forget, related_name='+', to='catalog.product')),
                    ('shop', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='shops.shop')),
                    ('variant', models.ForeignKey(blank=True, null=True, on_delete=apps.orders.models.bases.forget, related_name='+', to='catalog.variant')),
                ],
                options={
                    'verbose_name': 'draft order line',
                    'verbose_name_plural': 'draft order lines',
                    'ordering': ('draft_order', 'position', 'id'),
                    'indexes': [models.Index(fields=['draft_order', 'position', 'id'], name='draft_orders_line_by_draft')],
                    'constraints': [models.CheckConstraint(condition=models.Q(('quantity__gte', 1)), name='draft_orders_line_has_units', violation_error_code='quantity'), models.CheckConstraint(condition=models.Q(('discount__gte', 0), ('price__gte', 0), ('tax__gte', 0)), name='draft_orders_line_amounts_not_negative', violation_error_code='price')],
                },
            ),
        ),
    ]
