"""Find orders with possibly wrong totals or statuses, using set-based SQL.

The SQL only preselects candidates, which ``consistency_checks`` recalculates in Python. Tests check that SQL and Python
agree. SQLite has no exact decimals, so on SQLite all orders are candidates.
"""

from collections.abc import Sequence

from django.db import connection

from apps.ground.money import get_decimal_places
from apps.ground.prepared_sql import execute_prepared

# This query compares the totals of orders with the sums of their rows. ``c.places`` is the number of decimals of the
# order's currency.
_TOTALS = """
WITH o AS (
    SELECT orders_order.*, c.places FROM orders_order
    JOIN unnest(%s::text[], %s::int[]) AS c (code, places) ON c.code = orders_order.currency
    WHERE id > %s AND id <= %s
), l AS (
    SELECT o.id, sum(l.price * l.quantity) AS gross, sum(l.discount) AS discount, sum(l.tax) AS tax,
        sum(l.grams * l.quantity) AS weight, sum(l.price * l.current_quantity) AS left_gross,
        sum(round(l.discount * l.current_quantity / l.quantity, o.places)) AS left_discount,
        sum(round(l.tax * l.current_quantity / l.quantity, o.places)) AS left_tax,
        sum(l.price * (l.quantity - l.current_quantity - l.refunded_quantity)) AS removed_gross,
        sum(l.discount - round(l.discount * (l.current_quantity + l.refunded_quantity) / l.quantity, o.places))
            AS removed_discount,
        sum(l.tax - round(l.tax * (l.current_quantity + l.refunded_quantity) / l.quantity, o.places)) AS removed_tax,
        sum(l.duty) AS duty, sum(l.duty_tax) AS duty_tax,
        sum(l.duty - l.refunded_duty) AS left_duty, sum(l.duty_tax - l.refunded_duty_tax) AS left_duty_tax,
        o.cancelled_at IS NULL OR bool_or(l.current_quantity > 0) AS is_wanted
    FROM o JOIN orders_lineitem l ON l.order_id = o.id GROUP BY o.id, o.cancelled_at
), s AS (
    SELECT o.id, sum(s.price) AS price, sum(s.discount) AS discount, sum(s.tax) AS tax,
        sum(s.price) FILTER (WHERE NOT s.is_removed) AS left_price,
        sum(s.discount) FILTER (WHERE NOT s.is_removed) AS left_discount,
        sum(s.tax - s.refunded_tax) FILTER (WHERE NOT s.is_removed) AS left_tax,
        sum(s.refunded) FILTER (WHERE NOT s.is_removed) AS refunded
    FROM o JOIN orders_shippingline s ON s.order_id = o.id GROUP BY o.id
), w AS (
    SELECT o.*, l.gross, l.weight, l.gross - l.discount AS goods, l.left_gross - l.left_discount AS left_goods,
        l.discount + coalesce(s.discount, 0) AS discounts, l.tax + l.duty_tax + coalesce(s.tax, 0) AS taxes, l.duty,
        l.left_discount + coalesce(s.left_discount, 0) AS left_discounts,
        l.left_tax + coalesce(s.left_tax, 0) + CASE WHEN l.is_wanted THEN l.left_duty_tax ELSE 0 END AS left_taxes,
        CASE WHEN l.is_wanted THEN l.left_duty ELSE 0 END AS left_duty,
        l.removed_gross - l.removed_discount + CASE WHEN o.taxes_included THEN 0 ELSE l.removed_tax END AS removed,
        coalesce(s.price, 0) AS sent, coalesce(s.price - s.discount, 0) AS sent_net,
        coalesce(s.left_price - s.left_discount - s.refunded, 0) AS left_sent,
        CASE WHEN l.is_wanted THEN o.total_tip_received ELSE 0 END AS left_tip
    FROM o JOIN l ON l.id = o.id LEFT JOIN s ON s.id = o.id
)
SELECT o.id FROM o LEFT JOIN w ON w.id = o.id
WHERE (
    o.total_line_items_price, o.total_discounts, o.subtotal_price, o.total_shipping_price, o.total_tax, o.total_duties,
    o.total_weight, o.total_price, o.current_total_discounts, o.current_subtotal_price, o.current_total_tax,
    o.current_total_duties, o.current_total_price, o.total_removed
) IS DISTINCT FROM (
    w.gross, w.discounts, w.goods, w.sent, w.taxes, w.duty, w.weight,
    w.goods + w.duty + w.sent_net + w.total_tip_received + CASE WHEN w.taxes_included THEN 0 ELSE w.taxes END,
    w.left_discounts, w.left_goods, w.left_taxes, w.left_duty,
    greatest(
        w.left_goods + w.left_duty + w.left_sent + w.left_tip + w.refund_discrepancy
        + CASE WHEN w.taxes_included THEN 0 ELSE w.left_taxes END, 0
    ), w.removed
) ORDER BY o.id
"""
# This query compares the payments and statuses of orders with their rows, according to the rules in
# ``statuses.update_statuses``.
_PAYMENTS = """
WITH o AS (SELECT * FROM orders_order WHERE id > %s AND id <= %s), t AS (
    SELECT o.id,
        coalesce(sum(t.shop_amount) FILTER (WHERE t.kind IN ('sale', 'capture') AND t.status = 'success'), 0) AS paid,
        coalesce(sum(t.shop_amount) FILTER (WHERE t.kind = 'refund' AND t.status = 'success'), 0) AS refunded,
        bool_or(t.unsettled > 0 AND t.status = 'success') AS is_open,
        bool_or(t.kind = 'void' AND t.status = 'success') AS is_voided,
        count(DISTINCT t.gateway) AS gateways, min(t.gateway) AS gateway
    FROM o JOIN orders_transaction t ON t.order_id = o.id GROUP BY o.id
), l AS (
    SELECT o.id, sum(l.current_quantity) AS units, sum(l.fulfillable_quantity) AS waiting,
        sum(l.fulfilled_quantity) AS sent
    FROM o JOIN orders_lineitem l ON l.order_id = o.id GROUP BY o.id
), w AS (
    SELECT o.*, coalesce(t.paid, 0) AS paid, coalesce(t.refunded, 0) AS refunded,
        coalesce(t.is_open, false) AS is_open, coalesce(t.is_voided, false) AS is_voided,
        coalesce(t.gateways, 0) AS gateways, t.gateway, l.units, l.waiting, l.sent
    FROM o LEFT JOIN t ON t.id = o.id LEFT JOIN l ON l.id = o.id
)
SELECT w.id FROM w
WHERE gateways > 1 OR (total_paid, total_refunded, payment_gateway_names, status, financial_status, fulfillment_status)
IS DISTINCT FROM (
    paid, refunded, CASE WHEN gateways = 0 THEN '[]'::jsonb ELSE jsonb_build_array(gateway) END,
    CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN closed_at IS NOT NULL THEN 'closed' ELSE 'open' END,
    CASE
        WHEN refunded > 0 AND refunded >= paid THEN 'refunded'
        WHEN refunded > 0 THEN 'partially_refunded'
        WHEN paid >= total_price OR (paid > 0 AND cancelled_at IS NULL AND paid >= current_total_price) THEN 'paid'
        WHEN paid > 0 THEN 'partially_paid'
        WHEN is_open THEN 'authorized'
        WHEN is_voided THEN 'voided'
        ELSE 'pending'
    END,
    CASE
        WHEN units + waiting + sent = 0 THEN 'restocked'
        WHEN coalesce(sent, 0) = 0 THEN ''
        WHEN waiting > 0 THEN 'partial'
        ELSE 'fulfilled'
    END
) ORDER BY w.id
"""


def find_total_candidates(after: int, upto: int, currencies: Sequence[str]) -> list[int] | None:
    """Return the ids of orders in a range that may have wrong totals.

    Args:
        after: The exclusive lower bound.
        upto: The inclusive upper bound.
        currencies: All currencies that orders use.
    """
    if connection.vendor != "postgresql":
        return None
    decimal_places = [get_decimal_places(currency) for currency in currencies]
    return [row[0] for row in execute_prepared(_TOTALS, [list(currencies), decimal_places, after, upto])]


def find_payment_candidates(after: int, upto: int) -> list[int] | None:
    """Return the ids of orders in a range that may have wrong payments or statuses.

    The result is None if the database has no exact decimals.
    """
    if connection.vendor != "postgresql":
        return None
    return [row[0] for row in execute_prepared(_PAYMENTS, [after, upto])]
