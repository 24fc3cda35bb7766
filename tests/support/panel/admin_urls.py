"""All URLs of the panel, with the permissions that open each URL."""

from dataclasses import dataclass

STAFF = "staff_management_create staff_management_update staff_management_delete staff_management_activation"
ORDERS = "orders edit_orders refund_orders"
EXPORTS = "export_orders export_customers export_products staff_audit_log_view"
# Staff who may export personal data can also download the file.
EXPORTED = f"{EXPORTS} customers"
BULK = "products customers edit_orders"
APPS = "applications view_private_apps edit_private_apps"


@dataclass
class PageAccess:
    """The permissions that open a URL, and the response to a GET."""

    lets: tuple[str, ...] = ()  # any of these permissions is sufficient; if empty, no one can open the URL
    about: str = ""  # the type of object in the URL
    status: int = 200


# The start of the URL names, their ends, and the values of ``PageAccess`` for each of these URLs.
ROWS = (
    ("shops_shop", "changelist", "preferences", "", 302),
    ("shops_shop", "add", "", "", 200),
    ("shops_shop", "change history", "preferences", "shop", 200),
    ("shops_shop", "delete", "", "shop", 200),
    ("shops_installation", "changelist", APPS, "", 200),
    ("shops_installation", "add", "applications", "", 200),
    # The request lacks the app's authorization parameters.
    ("shops_installation", "authorize", "applications", "", 400),
    ("shops_installation", "change history", APPS, "installation", 200),
    ("shops_installation", "delete review new_purchase", "applications", "installation", 200),
    ("shops_installation", "scopes", "edit_private_apps", "installation", 200),
    ("shops_installation", "decide", "applications", "purchase", 405),
    ("shops_installation", "new_token rotate", "edit_private_apps", "installation", 405),
    ("shops_installation", "revoke", "edit_private_apps", "token", 200),
    ("shops_app", "changelist", APPS, "", 200),
    ("shops_app", "add", "edit_private_apps", "", 200),
    ("shops_app", "change history", APPS, "app", 200),
    ("shops_app", "delete", "edit_private_apps", "app", 200),
    ("shops_app", "install", "applications", "app", 200),
    ("shops_app", "secret end_old", "edit_private_apps", "app", 405),
    ("content_scripttag", "changelist", "themes applications", "", 200),
    ("content_scripttag", "add", "", "", 200),
    ("content_scripttag", "change history", "themes applications", "tag", 200),
    ("content_scripttag", "delete", "", "tag", 200),
    ("content_blog", "changelist add", "pages", "", 200),
    ("content_blog", "change history delete", "pages", "blog", 200),
    ("content_article", "changelist add", "pages", "", 200),
    ("content_article", "change history delete", "pages", "article", 200),
    ("content_article", "preview", "pages", "", 405),
    ("content_article", "version", "pages", "article_version", 200),
    ("content_storefile", "changelist add pick", "pages products themes", "", 200),
    ("content_storefile", "change history delete", "pages products themes", "store_file", 200),
    ("content_theme", "changelist add", "themes", "", 200),
    ("content_theme", "change history delete publish download code", "themes", "theme", 200),
    ("content_theme", "duplicate retry delete_file", "themes", "theme", 405),
    ("content_theme", "version", "themes", "version", 200),
    ("content_mobileplatformapplication", "changelist add", "preferences", "", 200),
    ("content_mobileplatformapplication", "change history delete", "preferences", "mobile", 200),
    ("inventory_location", "changelist", "locations products", "", 200),
    ("inventory_location", "add", "locations", "", 200),
    ("inventory_location", "change history", "locations products", "location", 200),
    ("inventory_location", "delete", "", "location", 200),
    ("inventory_location", "activation", "locations", "location", 200),
    ("inventory_inventoryitem", "changelist", "products", "", 200),
    ("inventory_inventoryitem", "add", "", "", 200),
    ("inventory_inventoryitem", "change history", "products", "item", 200),
    ("inventory_inventoryitem", "delete", "", "item", 200),
    ("inventory_stockmovement", "changelist", "products", "", 200),
    ("inventory_stockmovement", "add", "", "", 200),
    ("inventory_stockmovement", "change history", "products", "movement", 200),
    ("inventory_stockmovement", "delete", "", "movement", 200),
    ("catalog_product", "changelist add", "products", "", 200),
    ("catalog_product", "change history delete images", "products", "product", 200),
    ("catalog_product", "upload", "products", "", 405),
    ("catalog_variant", "changelist", "products", "", 200),
    ("catalog_variant", "add", "", "", 200),
    ("catalog_variant", "change history delete", "products", "variant", 200),
    ("catalog_customcollection", "changelist add", "products", "", 200),
    ("catalog_customcollection", "change history delete products", "products", "custom", 200),
    ("catalog_smartcollection", "changelist add preview", "products", "", 200),
    ("catalog_smartcollection", "change history delete products", "products", "smart", 200),
    ("metafields_metafield", "changelist add", "preferences", "", 200),
    ("metafields_metafield", "change history delete", "preferences", "metafield", 200),
    ("events_event", "changelist", "staff_audit_log_view", "", 200),
    ("events_event", "add", "", "", 200),
    ("events_event", "change history", "staff_audit_log_view", "event", 200),
    ("events_event", "delete", "", "event", 200),
    ("jobs_job", "changelist", "preferences", "", 200),
    ("jobs_job", "add", "", "", 200),
    ("jobs_job", "change history", "preferences", "job", 200),
    ("jobs_job", "delete", "", "job", 200),
    ("jobs_job", "retry cancel", "preferences", "job", 405),
    ("customers_customer", "changelist add", "customers", "", 200),
    ("customers_customer", "change history delete invite activation disable merge data", "customers", "customer", 200),
    ("customers_customer", "merge_with", "customers", "customer", 302),
    ("customers_customer", "data_export data_erase", "customers", "customer", 405),
    ("orders_order", "changelist", ORDERS, "", 200),
    ("orders_order", "add", "", "", 200),
    ("orders_order", "change history", ORDERS, "order", 200),
    ("orders_order", "delete edit lines cancel", "edit_orders", "order", 200),
    ("orders_order", "close open capture paid", "edit_orders", "order", 405),
    ("orders_order", "comment", "orders", "order", 405),
    ("orders_order", "report report_answers report_file", "reports", "", 200),
    ("fulfillment_fulfillmentorder", "changelist", "orders edit_orders", "", 200),
    ("fulfillment_fulfillmentorder", "add", "", "", 200),
    ("fulfillment_fulfillmentorder", "change", "orders edit_orders", "fulfillment_order", 302),
    ("fulfillment_fulfillmentorder", "history slip", "orders edit_orders", "fulfillment_order", 200),
    ("fulfillment_fulfillmentorder", "delete", "", "fulfillment_order", 200),
    ("fulfillment_fulfillmentorder", "act", "edit_orders", "fulfillment_action", 200),
    ("fulfillment_fulfillmentorder", "fulfill", "edit_orders", "fulfillment_of", 200),
    ("fulfillment_fulfillmentorder", "carrier", "edit_orders", "", 200),
    ("fulfillment_fulfillmentorder", "parcel", "edit_orders", "parcel_action", 200),
    ("fulfillment_fulfillmentorder", "remove_event", "edit_orders", "parcel_event", 405),
    ("fulfillment_fulfillmentorder", "parcel_slip", "orders edit_orders", "parcel", 200),
    # Redirects because no rows are selected.
    ("fulfillment_fulfillmentorder", "slips", "orders edit_orders", "", 302),
    ("fulfillment_fulfillmentservice", "changelist", "applications locations", "", 200),
    ("fulfillment_fulfillmentservice", "add", "applications", "", 200),
    ("fulfillment_fulfillmentservice", "change history records", "applications locations", "service", 200),
    ("fulfillment_fulfillmentservice", "delete", "applications", "service", 200),
    ("fulfillment_fulfillmentservice", "pull", "applications", "service_pull", 405),
    ("refunds_refund", "changelist", ORDERS, "", 200),
    ("refunds_refund", "add", "", "", 200),
    ("refunds_refund", "change history", ORDERS, "refund", 200),
    ("refunds_refund", "delete", "", "refund", 200),
    ("refunds_refund", "new", "refund_orders", "order", 200),
    ("refunds_refund", "calculation", "refund_orders", "order", 405),
    ("refunds_refund", "report report_file taxes taxes_file", "reports", "", 200),
    ("refunds_refund", "ask", "refund_orders", "refund_payment", 405),
    ("bulk_edits_bulkedit", "changelist", BULK, "", 200),
    ("bulk_edits_bulkedit", "add", "", "", 200),
    ("bulk_edits_bulkedit", "change history report", "products", "bulk_edit", 200),
    ("bulk_edits_bulkedit", "delete", "", "bulk_edit", 200),
    ("bulk_edits_bulkedit", "plan start stop undo", "products", "bulk_edit", 405),
    ("imports_exports_export", "changelist", EXPORTED, "", 200),
    ("imports_exports_export", "add", "", "", 200),
    ("imports_exports_export", "new", EXPORTS, "", 200),
    # An export can only be opened by the staff member who requested the export.
    ("imports_exports_export", "change history", EXPORTED, "export", 404),
    ("imports_exports_export", "delete", "", "export", 404),
    ("imports_exports_export", "file", EXPORTED, "export_file", 404),
    ("imports_exports_import", "changelist upload sample", "customers edit_orders products", "", 200),
    ("imports_exports_import", "add", "", "", 200),
    ("imports_exports_import", "change history report redirects", "customers edit_orders products", "import", 200),
    ("imports_exports_import", "delete", "", "import", 200),
    ("imports_exports_import", "columns", "customers edit_orders products", "import", 302),
    ("imports_exports_import", "confirm", "customers edit_orders products", "import", 405),
    ("payments_paymenthandlerconfig", "changelist add", "platform_payments_accounts", "", 200),
    ("payments_paymenthandlerconfig", "change history delete", "platform_payments_accounts", "payment_handler", 200),
    ("payments_paymenthandlerconfig", "preview", "platform_payments_accounts", "", 405),
    ("webhooks_subscription", "changelist topics", "applications", "", 200),
    ("webhooks_subscription", "add", "", "", 200),
    ("webhooks_subscription", "change history", "applications", "subscription", 200),
    ("webhooks_subscription", "delete", "", "subscription", 200),
    ("webhooks_subscription", "pause pace resume test recover", "applications", "subscription", 405),
    ("webhooks_subscription", "configuration", "edit_private_apps", "app", 200),
    ("webhooks_delivery", "changelist live", "applications", "", 200),
    ("webhooks_delivery", "add", "", "", 200),
    ("webhooks_delivery", "change history", "applications", "delivery", 200),
    ("webhooks_delivery", "delete", "", "delivery", 200),
    ("webhooks_delivery", "again", "applications", "delivery", 405),
    ("staff_membership", "changelist", STAFF, "", 200),
    ("staff_membership", "add", "staff_management_create", "", 200),
    ("staff_membership", "change history", STAFF, "membership", 200),
    ("staff_membership", "delete", "staff_management_delete", "membership", 200),
    ("staff_membership", "activation", "staff_management_activation", "membership", 405),
    ("staff_membership", "invitation", "staff_management_create", "membership", 405),
)
TABLE = {
    f"{model}_{page}": PageAccess(tuple(lets.split()), about, status)
    for model, pages, lets, about, status in ROWS
    for page in pages.split()
}
# Pages that all staff members can open. Each page has its own test.
OPEN = {
    "app_list", "autocomplete", "change_view", "choose_columns", "end_tour", "help", "help_page", "help_picture",
    "index", "jsi18n", "links", "login", "logout", "password_change", "password_change_done", "save_view", "search",
    "session",
}  # fmt: skip
# URLs without a name: Django redirects <id>/ to <id>/change/, and responds with 404 to unknown URLs.
