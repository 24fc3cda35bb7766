"""SQL that builds the JSON of resources in the database, with the same bytes as the API.

Each SELECT gives the columns the names of the fields and reads ``FROM {table} r``. The caller adds the WHERE clause.
"""

BASE_URL = "http://127.0.0.1:8000"


def _moment(column: str) -> str:
    return f'to_char({column}, \'YYYY-MM-DD"T"HH24:MI:SS"+00:00"\')'


_ADDRESS = """
a.id, a.customer_id, a.first_name, a.last_name, a.company, a.address1, a.address2, a.city,
nullif(a.province, '') AS province, nullif(a.country, '') AS country, a.zip, a.phone,
trim(concat(a.first_name, ' ', a.last_name)) AS name,
nullif(a.province_code, '') AS province_code, nullif(a.country_code, '') AS country_code,
nullif(a.country, '') AS country_name, a.id = r.default_address_id AS "default"
"""

CUSTOMER = f"""
SELECT r.id, nullif(r.email, '') AS email, {_moment("r.created_at")} AS created_at,
{_moment("r.updated_at")} AS updated_at, nullif(r.first_name, '') AS first_name, nullif(r.last_name, '') AS last_name,
r.orders_count, r.state, round(r.total_spent, 2)::text AS total_spent, r.last_order_id, nullif(r.note, '') AS note,
r.verified_email, nullif(r.multipass_identifier, '') AS multipass_identifier, r.tax_exempt, r.tags,
nullif(r.last_order_name, '') AS last_order_name, coalesce(nullif(r.last_order_currency, ''), 'USD') AS currency,
nullif(r.phone, '') AS phone,
(SELECT coalesce(json_agg(row_to_json(x)), '[]') FROM (
    SELECT {_ADDRESS} FROM customers_address a WHERE a.customer_id = r.id ORDER BY a.updated_at DESC, a.id DESC LIMIT 10
) x) AS addresses,
r.tax_exemptions,
json_build_object('state', r.email_marketing_state, 'opt_in_level', nullif(r.email_marketing_opt_in_level, ''),
    'consent_updated_at', {_moment("r.email_marketing_updated_at")}) AS email_marketing_consent,
json_build_object('state', r.sms_marketing_state, 'opt_in_level', r.sms_marketing_opt_in_level,
    'consent_updated_at', {_moment("r.sms_marketing_updated_at")},
    'consent_collected_from', r.sms_marketing_collected_from) AS sms_marketing_consent,
'gid://platform/Customer/' || r.id AS admin_graphql_api_id,
(SELECT row_to_json(x) FROM (SELECT {_ADDRESS} FROM customers_address a WHERE a.id = r.default_address_id) x)
    AS default_address
FROM customers_customer r
"""


def _money(amount: str, currency: str = "r.currency") -> str:
    first_amount = f"json_build_object('amount', round({amount}, 2)::text, 'currency_code', {currency})"
    return f"json_build_object('shop_money', {first_amount}, 'presentment_money', {first_amount})"


def _taxes(column: str) -> str:
    return f"""(SELECT coalesce(json_agg(json_build_object('price', t->>'price', 'rate', (t->>'rate')::float,
    'title', t->>'title', 'price_set', {_money("(t->>'price')::numeric")},
    'channel_liable', t->'channel_liable')), '[]')
    FROM jsonb_array_elements({column}) t)"""


def _objects(columns: str, rows: str) -> str:
    return f"(SELECT coalesce(json_agg(row_to_json(x)), '[]') FROM (SELECT {columns} FROM {rows}) x)"


_IMAGE = f"""
i.id, i.alt, i.position, i.product_id, {_moment("i.created_at")} AS created_at, {_moment("i.updated_at")} AS updated_at,
'gid://platform/ProductImage/' || i.id AS admin_graphql_api_id, i.width, i.height,
'{BASE_URL}/content/images/' || i.shop_id || '/' || i.key || '/' || i.name AS src,
(SELECT coalesce(json_agg(v.id ORDER BY v.id), '[]') FROM catalog_variant v WHERE v.image_id = i.id) AS variant_ids
"""
_VARIANT = f"""
v.id, v.product_id, v.title, round(v.price, 2)::text AS price, v.position, v.inventory_policy,
round(v.compare_at_price, 2)::text AS compare_at_price, v.option1, v.option2, v.option3,
{_moment("v.created_at")} AS created_at, {_moment("v.updated_at")} AS updated_at, v.taxable, v.barcode,
v.fulfillment_service, v.grams, CASE WHEN s.tracked THEN 'platform' END AS inventory_management, s.requires_shipping,
nullif(s.sku, '') AS sku, v.weight::float AS weight, v.weight_unit, v.inventory_item_id, v.inventory_quantity,
v.inventory_quantity AS old_inventory_quantity, json_build_array(json_build_object(
    'price', json_build_object('amount', round(v.price, 2)::text, 'currency_code', 'USD'),
    'compare_at_price', CASE WHEN v.compare_at_price IS NOT NULL THEN
        json_build_object('amount', round(v.compare_at_price, 2)::text, 'currency_code', 'USD') END))
    AS presentment_prices,
v.tax_code, 'gid://platform/ProductVariant/' || v.id AS admin_graphql_api_id, v.image_id
"""
_OPTION = "o.id, o.product_id, o.name, o.position, o.values"
_IMAGES = "catalog_productimage i WHERE i.product_id = r.id ORDER BY i.position, i.id"

PRODUCT = f"""
SELECT r.id, r.title, r.body_html, r.vendor, r.product_type, {_moment("r.created_at")} AS created_at, r.handle,
{_moment("r.updated_at")} AS updated_at, {_moment("r.published_at")} AS published_at, r.template_suffix,
r.published_scope, r.tags, r.status, 'gid://platform/Product/' || r.id AS admin_graphql_api_id,
{
    _objects(
        _VARIANT,
        "catalog_variant v JOIN inventory_inventoryitem s ON s.id = v.inventory_item_id"
        " WHERE v.product_id = r.id ORDER BY v.position, v.id",
    )
} AS variants,
{_objects(_OPTION, "catalog_productoption o WHERE o.product_id = r.id ORDER BY o.position, o.id")} AS options,
{_objects(_IMAGE, _IMAGES)} AS images,
(SELECT row_to_json(x) FROM (SELECT {_IMAGE} FROM {_IMAGES} LIMIT 1) x) AS image
FROM catalog_product r
"""


def _constants(value: str, names: str) -> str:
    return ", ".join(f"{value} AS {name}" for name in names.split())


def _amounts(names: str, *, sets: str) -> str:
    texts = [f"round(r.{name}, 2)::text AS {name}" for name in names.split()]
    return ", ".join([*texts, *(f"{_money(f'r.{name}')} AS {name}_set" for name in sets.split())])


_OF_LAND = ("province", "country", "country_code", "province_code")


def _snapshot(column: str) -> str:
    lines = "first_name address1 address2 phone city zip last_name company"
    members = [f"'{name}', {column}->>'{name}'" for name in lines.split()]
    members += [f"'{name}', nullif({column}->>'{name}', '')" for name in _OF_LAND]
    name = f"trim(concat({column}->>'first_name', ' ', {column}->>'last_name'))"
    return f"""CASE WHEN {column} IS NOT NULL THEN
    json_build_object({", ".join(members)}, 'latitude', NULL, 'longitude', NULL, 'name', {name}) END"""


def _allocations(alias: str) -> str:
    return f"""(SELECT coalesce(json_agg(json_build_object('amount', d->>'amount', 'amount_set',
    {_money("(d->>'amount')::numeric")}, 'discount_application_index', d->'discount_application_index')), '[]')
    FROM jsonb_array_elements({alias}.discount_allocations) d)"""


_AMOUNTS = _amounts(
    "current_subtotal_price current_total_discounts current_total_price current_total_tax subtotal_price"
    " total_discounts total_line_items_price total_price total_tax total_tip_received",
    sets="current_subtotal_price current_total_discounts current_total_price current_total_tax subtotal_price"
    " total_discounts total_line_items_price total_price total_shipping_price total_tax",
)
_NULLS = _constants(
    "NULL::text",
    "cart_token checkout_id checkout_token current_total_additional_fees_set current_total_duties_set device_id"
    " landing_site_ref location_id merchant_of_record_app_id original_total_additional_fees_set"
    " original_total_duties_set user_id payment_terms",
)
_LINE = f"""
l.id, 'gid://platform/LineItem/' || l.id AS admin_graphql_api_id, '[]'::json AS attributed_staffs, l.current_quantity,
l.fulfillable_quantity, l.fulfillment_service,
CASE WHEN l.fulfilled_quantity = 0 THEN NULL WHEN l.fulfillable_quantity = 0 THEN 'fulfilled' ELSE 'partial' END
    AS fulfillment_status,
l.gift_card, l.grams, nullif(l.name, '') AS name, round(l.price, 2)::text AS price, {_money("l.price")} AS price_set,
l.product_id IS NOT NULL AS product_exists, l.product_id, l.properties, l.quantity, l.requires_shipping,
nullif(l.sku, '') AS sku, l.taxable, l.title, round(l.total_discount, 2)::text AS total_discount,
{_money("l.total_discount")} AS total_discount_set, l.variant_id,
nullif(l.variant_inventory_management, '') AS variant_inventory_management,
nullif(l.variant_title, '') AS variant_title,
nullif(l.vendor, '') AS vendor, {_taxes("l.tax_lines")} AS tax_lines, '[]'::json AS duties,
{_allocations("l")} AS discount_allocations
"""
_SHIPPING = f"""
s.id, nullif(s.carrier_identifier, '') AS carrier_identifier, s.code,
round(s.price - s.discount, 2)::text AS discounted_price, {_money("s.price - s.discount")} AS discounted_price_set,
s.is_removed, nullif(s.phone, '') AS phone, round(s.price, 2)::text AS price, {_money("s.price")} AS price_set,
NULL::text AS requested_fulfillment_service_id, s.source, s.title, {_taxes("s.tax_lines")} AS tax_lines,
{_allocations("s")} AS discount_allocations
"""
_SENT_LINE = f"""
{_LINE.replace("l.quantity", "p.quantity")}, p.id AS fulfillment_line_item_id
"""
_SENT_LINES = (
    "fulfillment_fulfillmentline p JOIN orders_lineitem l ON l.id = p.line_item_id WHERE p.fulfillment_id = f.id"
)
_PARCEL = f"""
f.id, f.order_id, f.status, {_moment("f.created_at")} AS created_at, f.service,
{_moment("f.updated_at")} AS updated_at, nullif(f.tracking_company, '') AS tracking_company,
nullif(f.shipment_status, '') AS shipment_status, f.location_id, f.origin_address,
{_objects(_SENT_LINE, _SENT_LINES)} AS line_items,
f.tracking_numbers->>0 AS tracking_number, f.tracking_numbers, f.tracking_urls->>0 AS tracking_url, f.tracking_urls,
json_build_object('testcase', r.test, 'authorization', '') AS receipt, f.name,
'gid://platform/Fulfillment/' || f.id AS admin_graphql_api_id
"""
# The customer of an order has no addresses and no order summary, and has SMS consent only with a phone number.
_BUYER = f"""
SELECT b.id, nullif(b.email, '') AS email, {_moment("b.created_at")} AS created_at,
{_moment("b.updated_at")} AS updated_at, nullif(b.first_name, '') AS first_name, nullif(b.last_name, '') AS last_name,
b.state, nullif(b.note, '') AS note, b.verified_email, nullif(b.multipass_identifier, '') AS multipass_identifier,
b.tax_exempt, nullif(b.phone, '') AS phone,
json_build_object('state', b.email_marketing_state, 'opt_in_level', nullif(b.email_marketing_opt_in_level, ''),
    'consent_updated_at', {_moment("b.email_marketing_updated_at")}) AS email_marketing_consent,
CASE WHEN b.phone <> '' THEN json_build_object('state', b.sms_marketing_state,
    'opt_in_level', b.sms_marketing_opt_in_level, 'consent_updated_at', {_moment("b.sms_marketing_updated_at")},
    'consent_collected_from', b.sms_marketing_collected_from) END AS sms_marketing_consent,
b.tags, coalesce(nullif(b.last_order_currency, ''), 'USD') AS currency, b.tax_exemptions,
'gid://platform/Customer/' || b.id AS admin_graphql_api_id,
(SELECT row_to_json(x) FROM (
    SELECT {_ADDRESS.replace("r.default_address_id", "b.default_address_id")}
    FROM customers_address a WHERE a.id = b.default_address_id) x) AS default_address
FROM customers_customer b WHERE b.id = r.customer_id
"""

ORDER = f"""
SELECT r.id, 'gid://platform/Order/' || r.id AS admin_graphql_api_id, r.app_id, host(r.browser_ip) AS browser_ip,
r.buyer_accepts_marketing, nullif(r.cancel_reason, '') AS cancel_reason, {_moment("r.cancelled_at")} AS cancelled_at,
r.client_details, {_moment("r.closed_at")} AS closed_at, r.confirmation_number, TRUE AS confirmed,
nullif(r.email, '') AS contact_email, {_moment("r.created_at")} AS created_at, r.currency,
nullif(r.customer_locale, '') AS customer_locale, r.discount_codes, r.duties_included, r.email, r.estimated_taxes,
r.financial_status, nullif(r.fulfillment_status, '') AS fulfillment_status, nullif(r.landing_site, '') AS landing_site,
r.shop_id::text AS merchant_business_entity_id, r.name, nullif(r.note, '') AS note, r.note_attributes, r.number,
r.number + 1000 AS order_number, '{BASE_URL}/orders/' || r.shop_id || '/' || r.token AS order_status_url,
r.payment_gateway_names,
nullif(r.phone, '') AS phone, nullif(r.po_number, '') AS po_number, r.presentment_currency,
{_moment("r.processed_at")} AS processed_at, nullif(r.reference, '') AS reference,
nullif(r.referring_site, '') AS referring_site, nullif(r.source_identifier, '') AS source_identifier, r.source_name,
nullif(r.source_url, '') AS source_url, r.tags, r.tax_exempt, {_taxes("r.tax_lines")} AS tax_lines, r.taxes_included,
r.test, r.token, {_money("0")} AS total_cash_rounding_payment_adjustment_set,
{_money("0")} AS total_cash_rounding_refund_adjustment_set,
round(r.current_total_price - (r.total_paid - r.total_refunded), 2)::text AS total_outstanding, {_AMOUNTS}, {_NULLS},
r.total_weight, {_moment("r.updated_at")} AS updated_at, {_snapshot("r.billing_address")} AS billing_address,
(SELECT row_to_json(x) FROM ({_BUYER}) x) AS customer, r.discount_applications,
{_objects(_PARCEL, "fulfillment_fulfillment f WHERE f.order_id = r.id ORDER BY f.id")} AS fulfillments,
{_objects(_LINE, "orders_lineitem l WHERE l.order_id = r.id ORDER BY l.position, l.id")} AS line_items,
'[]'::json AS refunds, {_snapshot("r.shipping_address")} AS shipping_address,
{_objects(_SHIPPING, "orders_shippingline s WHERE s.order_id = r.id ORDER BY s.id")} AS shipping_lines
FROM orders_order r
"""


def select_list(document: str, plural: str, order: str, *, only: str = "TRUE") -> str:
    """Return SQL for the JSON of a resource's first page. The parameter is the shop id."""
    page = f"{document} WHERE r.shop_id = %s AND {only} ORDER BY r.id {order} LIMIT 50"
    return (
        f"""SELECT ('{{"{plural}":' || coalesce(json_agg(row_to_json(page)), '[]') || '}}')::text FROM ({page}) page"""
    )


def select_one(document: str, singular: str) -> str:
    """Return SQL for the JSON of one row. The parameters are the shop id and the row id."""
    return f"""SELECT ('{{"{singular}":' || row_to_json(x) || '}}')::text
        FROM ({document} WHERE r.shop_id = %s AND r.id = %s) x"""
