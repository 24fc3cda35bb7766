"""CSV columns of order files, and the names that other systems use for them."""

from apps.imports_exports.resources.cells import ADDRESS_ALIASES, ADDRESS_COLUMNS

# Columns of the order. Except for the columns in ``_COMPOSED``, each column has the name of a REST field.
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
)
_COMPOSED = frozenset(
    {"order", "paid", "discount_codes", *(name for name in ORDER_COLUMNS if name.startswith("shipping_"))}
)
FLAGS = ("taxes_included", "tax_exempt", "test")
UNCHANGED_COLUMNS = tuple(name for name in ORDER_COLUMNS if name not in {*_COMPOSED, *FLAGS})
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
# Columns with the duties of a line item. A cell may contain several duties, and taxes are grouped by duty.
DUTY = ("line_duty", "line_duty_hs_code", "line_duty_origin")
DUTY_TAX = ("line_duty_tax_title", "line_duty_tax_rate", "line_duty_tax")
LINE_TAX = ("line_tax_title", "line_tax_rate", "line_tax")
LINE_COLUMNS = (*LINE_FIELDS, "line_fulfilled", *LINE_TAX, *DUTY, *DUTY_TAX, *LINE_FLAGS)
ADDRESSES = ("billing", "shipping")
COLUMNS = (*ORDER_COLUMNS, *(f"{kind}_{name}" for kind in ADDRESSES for name in ADDRESS_COLUMNS), *LINE_COLUMNS)

ALIASES = {
    "Name": "order",
    "Order Name": "order",
    "Order Number": "order",
    "Order No.": "order",
    "E-mail Address": "email",
    "Customer Email": "email",
    "Order Date": "processed_at",
    "Date": "processed_at",
    "Payment Status": "financial_status",
    "Total": "total_price",
    "Order Total": "total_price",
    "Order Total Amount": "total_price",
    "Tip": "total_tip_received",
    "Tip Amount": "total_tip_received",
    "Shipping": "shipping_price",
    "Order Shipping Amount": "shipping_price",
    "Shipping Method": "shipping_title",
    "Shipping Method Title": "shipping_title",
    "Notes": "note",
    "Customer Note": "note",
    "Lineitem Name": "line_title",
    "Item Name": "line_title",
    "Product": "line_title",
    "Product Name": "line_title",
    "Lineitem SKU": "line_sku",
    "Item SKU": "line_sku",
    "SKU": "line_sku",
    "Lineitem Quantity": "line_quantity",
    "Item Quantity": "line_quantity",
    "Quantity": "line_quantity",
    "Lineitem Price": "line_price",
    "Item Cost": "line_price",
    "Item Price": "line_price",
    "Lineitem Discount": "line_discount",
    "Lineitem Requires Shipping": "line_requires_shipping",
    "Lineitem Taxable": "line_taxable",
    "Email (Billing)": "email",
    "Phone (Billing)": "phone",
    **{
        spelling: f"{kind}_{name}"
        for kind in ADDRESSES
        for alias, name in {**ADDRESS_ALIASES, **{name: name for name in ADDRESS_COLUMNS}}.items()
        # Other systems put the address type before or after the column name.
        for spelling in (f"{kind} {alias}", f"{alias} ({kind})")
    },
}
