"""Tests for search queries as conditions on real database tables."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import ClassVar
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker

from apps.core.search_query import And, Node, Not, Or, QuerySyntaxError, parse_query
from apps.core.search_query.database import QueryValueError, SearchFields
from apps.core.search_query.fields import Boolean, Choice, Integer, Number, Related, Tags, Text, Timestamp, Words
from tests.query.test_query_parser import combine_nodes

pytestmark = pytest.mark.django_db

NEW_YORK = ZoneInfo("America/New_York")


class Person(models.Model):
    objects: ClassVar[models.Manager["Person"]] = models.Manager()

    name = models.CharField(max_length=255)
    email = models.CharField(max_length=255, null=True, blank=True, unique=True)
    state = models.CharField(max_length=20, default="enabled")
    tags = models.TextField(default="")
    orders = models.IntegerField(default=0)
    spent = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    verified = models.BooleanField(default=False)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "query_tests"
        managed = False
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Home(models.Model):
    objects: ClassVar[models.Manager["Home"]] = models.Manager()

    person = models.ForeignKey(Person, models.CASCADE, null=True)
    city = models.CharField(max_length=255)

    class Meta:
        app_label = "query_tests"
        managed = False
        ordering = ("city",)

    def __str__(self) -> str:
        return self.city


SEARCH = SearchFields(
    fields={
        "id": Integer("id"),
        "name": Words("name"),
        "email": Words("email", after=" @.-_"),
        "exact_email": Text("email"),
        "state": Choice("state", ("enabled", "disabled", "invited")),
        "tag": Tags("tags"),
        "orders_count": Integer("orders"),
        "total_spent": Number("spent"),
        "verified": Boolean("verified"),
        "seen_at": Timestamp("seen_at"),
        "city": Related(Home.objects.all, "person_id", Words("city")),
    },
    default_fields=("name", "email", "city", "id"),
    rows=Person.objects.all,
)
WITHOUT_UNION = SearchFields(fields=SEARCH.fields, default_fields=SEARCH.default_fields)


@pytest.fixture(scope="module", autouse=True)
def _tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        with connection.schema_editor() as editor:
            editor.create_model(Person)
            editor.create_model(Home)
        yield
        with connection.schema_editor() as editor:
            editor.delete_model(Home)
            editor.delete_model(Person)


@pytest.fixture(autouse=True)
def _people() -> None:
    bob = Person.objects.create(
        name="Bob Norman",
        email="bob.norman@mail.example",
        tags="VIP, Wholesale",
        orders=3,
        spent=Decimal("5.00"),
        verified=True,
        seen_at=datetime(2026, 3, 2, 4, 30, tzinfo=UTC),  # 23:30 on the previous day in New York
    )
    jean = Person.objects.create(name="Jean-Paul O'Brien", state="disabled", tags="vip", spent=Decimal("10.50"))
    Person.objects.create(name="100% Wool_Shop \\ Ltd", email="", state="invited", orders=2**31 - 1)
    Person.objects.create(name="Éric Müller", email="eric@bob.example", tags="VIP member", spent=Decimal("-1.25"))
    Home.objects.create(person=bob, city="New York")
    Home.objects.create(person=bob, city="York")
    Home.objects.create(person=jean, city="Paris")
    Home.objects.create(person=None, city="Berlin")


def search(text: str, fields: SearchFields = SEARCH) -> list[str]:
    condition = fields.compile(parse_query(text), zone=NEW_YORK)
    return [name.split()[0] for name in Person.objects.filter(condition).values_list("name", flat=True)]


BOB, JEAN, SHOP, ERIC = "Bob", "Jean-Paul", "100%", "Éric"


FOUND = {
    # Texts match the beginnings of words. The wildcards of SQL are literal.
    "name:bob": [BOB],
    "name:NOR": [BOB],
    "name:orman": [],
    "name:paul": [JEAN],
    "name:'bob nor'": [BOB],
    "name:o'b*": [JEAN],
    "email:mail": [BOB],
    "email:bob": [BOB, ERIC],
    "email:example*": [BOB, ERIC],
    "exact_email:BOB.norman@MAIL.example": [BOB],
    "exact_email:bob": [],
    "exact_email:bob*": [BOB],
    "name:éric": [ERIC],
    "name:ÉRIC": [ERIC],
    "name:MÜL": [ERIC],
    "name:%": [],
    "name:_": [],
    "name:100%": [SHOP],
    "name:100_": [],
    "name:wool_": [SHOP],
    "name:woolx": [],
    r"name:\\": [SHOP],
    "name:🎉": [],
    'name:"\'; DROP TABLE query_tests_person; --"': [],
    # Other fields compare by their type.
    "orders_count:3": [BOB],
    "orders_count:>3": [SHOP],
    "orders_count:<=0": [JEAN, ERIC],
    "orders_count:<9223372036854775807": [BOB, JEAN, SHOP, ERIC],
    "orders_count:-9223372036854775808": [],
    "total_spent:5": [BOB],
    "total_spent:5.0000": [BOB],
    "total_spent:5.001": [],
    "total_spent:<5.001": [BOB, ERIC],
    "total_spent:>5": [JEAN],
    "total_spent:<-1": [ERIC],
    f"total_spent:<{'9' * 40}": [BOB, JEAN, ERIC],
    "-total_spent:>5": [BOB, SHOP, ERIC],
    "verified:TRUE": [BOB],
    "verified:false": [JEAN, SHOP, ERIC],
    "state:Disabled": [JEAN],
    "state:dis*": [JEAN],
    "tag:vip": [BOB, JEAN],
    "tag:wholesale": [BOB],
    "tag:whole": [],
    "tag:whole*": [BOB],
    "tag:'vip member'": [ERIC],
    "-tag:vip": [SHOP, ERIC],
    "city:new": [BOB],
    "-city:york": [JEAN, SHOP, ERIC],
    # Times are in the zone of the shop, and as long as they are written.
    "seen_at:2026-03-01": [BOB],
    "seen_at:2026-03-02": [],
    "seen_at:'2026-03-02 UTC'": [BOB],
    "seen_at:<2026-03-02": [BOB],
    "seen_at:<=2026-03-01": [BOB],
    "seen_at:>2026-03-01": [],
    "seen_at:>=2026-03-01": [BOB],
    "seen_at:2026-03-02T04:30Z": [BOB],
    "seen_at:>2026-03-02T04:30:00Z": [],
    "seen_at:>='2026-03-01 23:30:00'": [BOB],
    "seen_at:>0001-01-02": [BOB],
    "seen_at:<9999-12-30": [BOB],
}


def test_fields_find_rows_by_their_type() -> None:
    assert {text: sorted(search(text)) for text in FOUND} == {text: sorted(names) for text, names in FOUND.items()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bob", [BOB, ERIC]),
        ("paris", [JEAN]),
        ("york", [BOB]),
        ("berlin", []),
        ("bob york", [BOB]),
        ("bob OR paris", [BOB, JEAN, ERIC]),
        ("-bob", [JEAN, SHOP]),
        ("-york", [JEAN, SHOP, ERIC]),
        ("*", [BOB, JEAN, SHOP, ERIC]),
        ("-*", []),
        ("%", []),
        ("state:enabled york OR paris", [BOB]),
        ("city:york OR state:invited", [BOB, SHOP]),
        ("-(city:york OR state:invited)", [JEAN, ERIC]),
        ("nonsense:1 OR city:paris", [JEAN]),
        ("nonsense:1 OR nonsense:2", []),
    ],
)
@pytest.mark.parametrize("fields", [SEARCH, WITHOUT_UNION], ids=["united", "plain"])
def test_bare_words_and_groups_match_each_row_once(fields: SearchFields, text: str, names: list[str]) -> None:
    assert sorted(search(text, fields)) == sorted(names)


def test_presence_and_absence_split_the_rows() -> None:
    present = {
        "email": [BOB, ERIC],
        "exact_email": [BOB, ERIC],
        "tag": [BOB, JEAN, ERIC],
        "total_spent": [BOB, JEAN, ERIC],
        "seen_at": [BOB],
        "state": [BOB, JEAN, SHOP, ERIC],
        "city": [BOB, JEAN],
        "nonsense": [],
    }
    everyone = {BOB, JEAN, SHOP, ERIC}

    assert {name: sorted(search(f"{name}:*")) for name in present} == {
        name: sorted(rows) for name, rows in present.items()
    }
    assert {name: sorted(search(f"-{name}:*")) for name in present} == {
        name: sorted(everyone - {*rows}) for name, rows in present.items()
    }


def test_rows_without_a_value_match_the_empty_value_and_negations() -> None:
    assert sorted(search("email:''")) == sorted(search("-email:bob")) == sorted([JEAN, SHOP])


@pytest.mark.parametrize(
    ("text", "field", "position", "message"),
    [
        ("bob seen_at:soon", "seen_at", 4, "'soon' is not a date"),
        ("seen_at:2026-02-30", "seen_at", 0, "'2026-02-30' is not a date"),
        ("seen_at:9999-12-31", "seen_at", 0, "'9999-12-31' is not a date"),
        ("orders_count:many", "orders_count", 0, "'many' is not an integer"),
        ("orders_count:٣", "orders_count", 0, "'٣' is not an integer"),
        ("orders_count:9223372036854775808", "orders_count", 0, "'9223372036854775808' is not an integer"),
        ("orders_count:1*", "orders_count", 0, "'1' is a prefix, but only text fields support prefixes"),
        ("total_spent:1e3", "total_spent", 0, "'1e3' is not a number"),
        ("total_spent:NaN", "total_spent", 0, "'NaN' is not a number"),
        ("verified:maybe", "verified", 0, "'maybe' is neither true nor false"),
        ("verified:>true", "verified", 0, "'true' is neither true nor false"),
        ("state:gone", "state", 0, "'gone' is not included in the list"),
        ("name:>bob", "name", 0, "'bob' cannot be compared, because the field is a text"),
        ("city:<x", "city", 0, "'x' cannot be compared, because the field is a text"),
        (f"verified:{'x' * 60}", "verified", 0, f"'{'x' * 49}…' is neither true nor false"),
    ],
)
def test_value_of_another_type_is_refused_by_name(text: str, field: str, position: int, message: str) -> None:
    with pytest.raises(QueryValueError) as error_info:
        SEARCH.compile(parse_query(text), zone=NEW_YORK)

    error = error_info.value
    assert (error.field, error.position, error.message) == (field, position, message)


@pytest.mark.parametrize("connective", [" ", " OR "])
@pytest.mark.parametrize("fields", [SEARCH, WITHOUT_UNION], ids=["united", "plain"])
def test_largest_query_is_one_that_the_database_takes(fields: SearchFields, connective: str) -> None:
    text = connective.join(f"é{number}" for number in range(50))

    assert search(text, fields) == []


@pytest.mark.parametrize(
    "level", ["-(york OR {})", "(york name:b OR {})", "(-york OR {} city:x)", "-({} york OR -bob)"]
)
@pytest.mark.parametrize("fields", [SEARCH, WITHOUT_UNION], ids=["united", "plain"])
def test_deepest_query_is_one_that_the_database_takes(fields: SearchFields, level: str) -> None:
    text = "bob"
    for _ in range(20):
        text = level.format(text)

    assert set(search(text, fields)) <= {BOB, JEAN, SHOP, ERIC}


LEAVES = tuple(
    parse_query(text) for text in ("york", "name:bob", "email:*", "total_spent:>5", "city:paris", "tag:vip", "x:1")
)


def evaluate_tree(tree: Node, rows: dict[Node, set[int]], everyone: set[int]) -> set[int]:
    match tree:
        case Not(operand):
            return everyone - evaluate_tree(operand, rows, everyone)
        case And(operands):
            return set.intersection(*(evaluate_tree(condition, rows, everyone) for condition in operands))
        case Or(operands):
            return set.union(*(evaluate_tree(condition, rows, everyone) for condition in operands))
    return rows[tree]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.recursive(st.sampled_from(LEAVES), combine_nodes, max_leaves=12))
def test_groups_combine_as_sets_do(tree: Node) -> None:
    everyone = set(Person.objects.values_list("id", flat=True))
    rows = {
        leaf: set(Person.objects.filter(SEARCH.compile(leaf, zone=UTC)).values_list("id", flat=True)) for leaf in LEAVES
    }
    expected = evaluate_tree(tree, rows, everyone)

    for fields in (SEARCH, WITHOUT_UNION):
        matching = Person.objects.filter(fields.compile(tree, zone=UTC)).values_list("id", flat=True)

        assert sorted(matching) == sorted(expected)

    alternatives = [Person.objects.filter(condition) for condition in SEARCH.compile_alternatives(tree, zone=UTC)]
    assert 1 <= len(alternatives) <= 8
    assert {person.pk for rows in alternatives for person in rows} == expected


def test_related_fields_cost_no_query_of_their_own(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        search("york OR city:paris -email:*")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(["", "name:", "tag:", "city:", "exact_email:", "-name:"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("%_\\'\"*[]^$ éß", max_size=8),
)
def test_any_text_gives_rows_or_a_refusal(prefix: str, value: str) -> None:
    try:
        names = search(prefix + value)
    except (QuerySyntaxError, QueryValueError):
        return

    assert len(names) == len(set(names))


@pytest.mark.postgres
def test_text_conditions_use_the_trigram_index_of_postgresql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        cursor.execute("CREATE INDEX ON query_tests_person USING gin (upper(name) gin_trgm_ops)")
        cursor.execute("SET LOCAL enable_seqscan = off")

    plan = Person.objects.filter(SEARCH.compile(parse_query("name:norman"), zone=UTC)).order_by().explain()

    assert "BitmapOr" in plan
    assert "Seq Scan" not in plan
