"""The columns of order tables: our own, those of other systems, and their names in files."""

from apps.imports_exports.resources.cells import (
    ADDRESS_ALIASES,
    ADDRESS_COLUMNS,
    MORE_ADDRESS_ALIASES,
    READ_ADDRESS_COLUMNS,
)
from apps.imports_exports.resources.exported_orders import csv_losses

# Columns of the order. Except for the columns in ``COMPOSED``, each column has the name of a REST field.
ORDER_COLUMNS = (
    "order",
    "email",
    "phone",
    "created_at",
    "processed_at",
    "currency",
    "presentment_currency",
    "exchange_rate",
    "financial_status",
    "fulfillment_status",
    "paid",
    "total_price",
    "total_tip_received",
    "taxes_included",
    "tax_exempt",
    "test",
    "discount_codes",
    "shipping_title",
    "shipping_price",
    "shipping_tax_title",
    "shipping_tax_rate",
    "shipping_tax",
    "tags",
    "note",
    "closed_at",
    "cancelled_at",
    "cancel_reason",
    csv_losses.COLUMN,
)
COMPOSED = frozenset(
    {
        "order",
        "paid",
        "discount_codes",
        csv_losses.COLUMN,
        *(name for name in ORDER_COLUMNS if name.startswith("shipping_")),
    }
)
FLAGS = ("taxes_included", "tax_exempt", "test")
UNCHANGED_COLUMNS = tuple(name for name in ORDER_COLUMNS if name not in {*COMPOSED, *FLAGS})
# Maps line item columns to REST fields.
LINE_FIELDS = {
    "line_title": "title",
    "line_variant": "variant_title",
    "line_sku": "sku",
    "line_quantity": "quantity",
    "line_price": "price",
    "line_discount": "total_discount",
}
LINE_FLAGS = {"line_requires_shipping": "requires_shipping", "line_taxable": "taxable"}
# The endings of columns with taxes, keyed by the field of a tax line.
TAX_FIELDS = {"title": "_title", "rate": "_rate", "price": ""}
# Columns with the duties of a line item. A cell may contain several duties, and taxes are grouped by duty.
DUTY = ("line_duty", "line_duty_hs_code", "line_duty_origin")
DUTY_TAX = ("line_duty_tax_title", "line_duty_tax_rate", "line_duty_tax")
LINE_TAX = ("line_tax_title", "line_tax_rate", "line_tax")
LINE_COLUMNS = (*LINE_FIELDS, "line_fulfilled", *LINE_TAX, *DUTY, *DUTY_TAX, *LINE_FLAGS)
ADDRESSES = ("billing", "shipping")
COLUMNS = (*ORDER_COLUMNS, *(f"{kind}_{name}" for kind in ADDRESSES for name in ADDRESS_COLUMNS), *LINE_COLUMNS)

MAX_NAMED_TAXES = 5
# Maps columns for the name and the amount of a tax.
NAMED_TAXES = {f"tax_{number}_name": f"tax_{number}_value" for number in range(1, MAX_NAMED_TAXES + 1)}
# Columns of other systems that describe what our own columns describe in another way. See ``foreign_orders``.
FOREIGN_COLUMNS = (
    "subtotal_price",
    "total_tax",
    *(column for pair in NAMED_TAXES.items() for column in pair),
    "total_duties",
    "discount_code",
    "discount_amount",
    "payment_method",
    "payment_reference",
    "paid_at",
    "fulfilled_at",
    "refunded_amount",
    "outstanding_balance",
    "line_fulfillment_status",
)
# Columns that only imports read, with the names of REST fields.
IMPORTED_FIELDS = ("source_identifier", "source_name")
IMPORTED_LINE_FIELDS = {"line_vendor": "vendor"}
IMPORTED_COLUMNS = (
    *COLUMNS,
    *(f"{kind}_{name}" for kind in ADDRESSES for name in READ_ADDRESS_COLUMNS if name not in ADDRESS_COLUMNS),
    *FOREIGN_COLUMNS,
    *IMPORTED_FIELDS,
    "buyer_accepts_marketing",
    "note_attributes",
    *IMPORTED_LINE_FIELDS,
)
# Columns of the reference platform's tables that have no field in Backoffice, or repeat other columns.
UNSUPPORTED = (
    "Employee",
    "Location",
    "Device ID",
    "Risk Level",
    "Receipt Number",
    "Lineitem compare at price",
    "Payment ID",
    "Payment References",
    "Payment Terms Name",
    "Next Payment Due At",
    *("Billing Street", "Shipping Street"),
)
# The names that other systems use.
ALIASES = {
    "order": ("Name", "Order Name", "Order Number", "Order No."),
    "email": ("E-mail Address", "Customer Email", "Email (Billing)"),
    "phone": ("Phone (Billing)",),
    "processed_at": ("Order Date", "Date"),
    "financial_status": ("Payment Status", "Order Status"),
    "total_price": ("Total", "Order Total", "Order Total Amount"),
    "total_tip_received": ("Tip", "Tip Amount"),
    "shipping_price": ("Shipping", "Order Shipping Amount"),
    "shipping_title": ("Shipping Method", "Shipping Method Title"),
    "note": ("Notes", "Customer Note"),
    "subtotal_price": ("Subtotal",),
    "total_tax": ("Taxes", "Total Tax", "Order Tax", "Order Total Tax Amount", "Tax Amount"),
    "total_duties": ("Duties",),
    "discount_code": ("Coupon Code",),
    "discount_amount": ("Cart Discount Amount",),
    "payment_method": ("Payment Method Title", "Gateway"),
    "payment_reference": ("Payment References", "Payment ID", "Transaction ID"),
    "paid_at": ("Paid Date", "Date Paid"),
    "fulfilled_at": ("Completed Date",),
    "cancelled_at": ("Canceled at",),
    "refunded_amount": ("Refunded", "Order Refund Amount", "Refund Amount"),
    "source_identifier": ("Id", "Order ID"),
    "source_name": ("Source", "Channel"),
    "buyer_accepts_marketing": ("Accepts Marketing",),
    "line_title": ("Lineitem Name", "Item Name", "Product", "Product Name"),
    "line_sku": ("Lineitem SKU", "Item SKU", "SKU"),
    "line_quantity": ("Lineitem Quantity", "Item Quantity", "Quantity"),
    "line_price": ("Lineitem Price", "Item Cost", "Item Price"),
    "line_discount": ("Lineitem Discount",),
    "line_requires_shipping": ("Lineitem Requires Shipping",),
    "line_taxable": ("Lineitem Taxable",),
    "line_fulfillment_status": ("Lineitem Fulfillment Status",),
    "line_vendor": ("Vendor", "Lineitem Vendor"),
    **{
        # Other systems put the address type before or after the column name.
        f"{kind}_{name}": [
            spelling for alias in (*aliases, name) for spelling in (f"{kind} {alias}", f"{alias} ({kind})")
        ]
        for kind in ADDRESSES
        for name, aliases in (ADDRESS_ALIASES | MORE_ADDRESS_ALIASES).items()
    },
}
# Our columns, keyed by the paths of their fields.
FIELD_COLUMNS = {
    "name": "order",
    **{f"line_items.{field}": column for column, field in (LINE_FIELDS | LINE_FLAGS | IMPORTED_LINE_FIELDS).items()},
    "line_items.fulfilled_quantity": "line_fulfilled",
    **{f"line_items.tax_lines.{field}": f"line_tax{suffix}" for field, suffix in TAX_FIELDS.items()},
    **{f"shipping_lines.tax_lines.{field}": f"shipping_tax{suffix}" for field, suffix in TAX_FIELDS.items()},
    "shipping_lines.title": "shipping_title",
    "shipping_lines.price": "shipping_price",
    "transactions.amount": "paid",
    "transactions.processed_at": "paid_at",
    "fulfillments.created_at": "fulfilled_at",
    **{f"{kind}_address.{name}": f"{kind}_{name}" for kind in ADDRESSES for name in READ_ADDRESS_COLUMNS},
}
