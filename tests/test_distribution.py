import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

pytestmark = pytest.mark.postgres

PAGE = Path(settings.BASE_DIR, "docs", "scaling.md").read_text().partition("## Sharding one shop")[2]
# The tables with a shop column, and the column's attribute number.
SHOP_TABLES = """WITH of_shops AS (
    SELECT a.attrelid AS id, a.attnum AS shop FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attname = 'shop_id' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
)"""
FIGURES = {
    "tables with a `shop_id`": f"{SHOP_TABLES} SELECT count(*) FROM of_shops",
    "foreign keys between these tables": f"""{SHOP_TABLES}
        SELECT count(*) FROM pg_constraint k JOIN of_shops a ON a.id = k.conrelid JOIN of_shops b ON b.id = k.confrelid
        WHERE k.contype = 'f' AND NOT a.shop = ANY(k.conkey)""",
    "deferred foreign keys": """SELECT count(*) FROM pg_constraint
        WHERE contype = 'f' AND condeferrable AND connamespace = 'public'::regnamespace""",
    "triggers": "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal",
    "GIN indexes": """SELECT count(*) FROM pg_class c JOIN pg_am m ON m.oid = c.relam
        WHERE c.relkind = 'i' AND m.amname = 'gin' AND c.relnamespace = 'public'::regnamespace""",
    "indexes with a pattern operator class": """SELECT count(DISTINCT i.indexrelid)
        FROM pg_index i CROSS JOIN unnest(i.indclass::oid[]) AS used JOIN pg_opclass o ON o.oid = used
        WHERE o.opcname LIKE '%_pattern_ops'""",
}
UNIQUE_WITHOUT_SHOP = f"""{SHOP_TABLES}
    SELECT c.relname FROM pg_index i JOIN of_shops t ON t.id = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indisunique AND NOT i.indisprimary AND NOT t.shop = ANY(i.indkey::int2[])"""


def get_documented_count(beginning: str) -> int:
    match = re.search(rf"^\| {beginning}[^|]*\| (\d+)", PAGE, re.MULTILINE)
    assert match, beginning
    return int(match[1])


def test_scaling_page_counts_all_sharding_obstacles(db: None) -> None:
    counted = {}
    with connection.cursor() as cursor:
        for name, query in FIGURES.items():
            cursor.execute(query)
            (counted[name],) = cursor.fetchone()

    assert counted == {name: get_documented_count(name) for name in FIGURES}


def test_unique_constraints_without_their_shop_are_those_of_the_page(db: None) -> None:
    documented = PAGE.partition("```text\n")[2].partition("```")[0].split()

    with connection.cursor() as cursor:
        cursor.execute(UNIQUE_WITHOUT_SHOP)
        there = {name for (name,) in cursor.fetchall()}

    assert sorted(there) == sorted(documented)
    assert len(documented) == get_documented_count("unique constraints without")


def test_scaling_page_counts_server_statements() -> None:
    source = "".join(path.read_text() for path in Path(settings.BASE_DIR, "apps").rglob("*.py"))

    assert len(re.findall(r"SKIP LOCKED|skip_locked=True", source)) == get_documented_count("`SKIP LOCKED`")
    assert source.count("pg_export_snapshot()") == get_documented_count("`pg_export_snapshot`")
