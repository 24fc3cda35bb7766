from django.db import migrations

from apps.core.db.migration_operations import AddPostgresIndex, EnsureTrigramExtension


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("inventory", "0005_stock_transfers")]

    operations = [
        EnsureTrigramExtension(),
        AddPostgresIndex(
            "stockreceiptline", "inventory_receiptline_sku_start", "(shop_id, upper(sku) text_pattern_ops)"
        ),
        AddPostgresIndex("stockreceipt", "inventory_receipt_note_parts", "USING gin (upper(note) gin_trgm_ops)"),
        AddPostgresIndex(
            "stocktransferline", "inventory_transferline_sku_start", "(shop_id, upper(sku) text_pattern_ops)"
        ),
        AddPostgresIndex("stocktransfer", "inventory_transfer_note_parts", "USING gin (upper(note) gin_trgm_ops)"),
    ]
