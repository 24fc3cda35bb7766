import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.test import Client

from apps.content.models import Blog, ScriptTag
from apps.core.rest.requests import views
from apps.core.tenancy.models import AccessToken, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from tests.faults.conftest import Sql, connect_from_outside, refuse_connections
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, Response
from tests.support.panel.client import Panel
from tests.support.panel.pages import NO_METAFIELDS
from tests.support.timing import get_time_limit
from tests.support.types import JsonObject


def build_body(name: str = "a") -> JsonObject:
    return {"script_tag": {"src": f"https://a.example/{name}.js", "event": "onload"}}


def get_tag_ids(shop: Shop) -> list[int]:
    with shop_scope(shop):
        return list(ScriptTag.objects.values_list("pk", flat=True))


def assert_retry_later(response: Response) -> None:
    assert response.status_code == 503
    assert float(response["Retry-After"]) > 0


@pytest.fixture
def owner_client(shop: Shop) -> Panel:
    """Log in an account owner with a client that returns error pages instead of raising exceptions."""
    return Panel(factories.make_member(shop, owner=True), shop, raise_request_exception=False)


def test_api_tells_clients_to_retry_if_the_database_refuses(api: ApiClient, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("refused_connections")

    strange = api.http.get(api.path("script_tags.json"), headers={"Host": "unheard-of.example"})
    responses = [api.get("script_tags.json"), api.post("script_tags.json", build_body()), strange]
    responses.append(api.post("script_tags.json", build_body(), idempotency_key="k"))

    for response in responses:
        assert_retry_later(response)
        assert response.json() == {"errors": "Service Unavailable"}


def test_pages_say_that_the_database_is_away(owner_client: Panel, shop: Shop, request: pytest.FixtureRequest) -> None:
    public = Client(raise_request_exception=False)
    home, blogs = owner_client.url(), owner_client.url("content_blog_changelist")
    request.getfixturevalue("refused_connections")

    responses = [owner_client.http.get(home), owner_client.http.get(blogs), owner_client.http.post(blogs, {})]
    responses += [public.get(f"/storefront/{shop.handle}/theme.css"), owner_client.http.get("/accounts/profile/")]

    for response in responses[:3]:
        assert_retry_later(response)
        assert "The database is not responding" in response.text
    assert all(response.status_code in {404, 503} for response in responses[3:])


def test_a_database_that_came_back_is_used_at_once(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with refuse_connections(monkeypatch):
        assert_retry_later(api.get("script_tags.json"))

    assert api.get("script_tags.json").status_code == 200


@pytest.mark.postgres
def test_standby_that_may_only_be_read_takes_no_writes_and_serves_reads(api: ApiClient, owner_client: Panel) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    try:
        assert_retry_later(api.post("script_tags.json", build_body()))
        assert_retry_later(owner_client.post("content_blog_add", title="x", commentable="no", **NO_METAFIELDS))
        assert api.get("script_tags.json").status_code == 200
    finally:
        connection.close()


@pytest.fixture
def short_lock_timeout(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connection.close()
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict["OPTIONS"], "options", "-c lock_timeout=200")
        yield
        connection.close()


@pytest.mark.postgres
def test_long_lock_waits_are_503(
    api: ApiClient, owner_client: Panel, shop: Shop, request: pytest.FixtureRequest
) -> None:
    api.get("shop.json")
    request.getfixturevalue("short_lock_timeout")
    with connect_from_outside() as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE content_scripttag, content_blog IN ACCESS EXCLUSIVE MODE")
        responses = [api.get("script_tags.json"), api.post("script_tags.json", build_body(), idempotency_key="k")]
        responses += [owner_client.get("content_blog_changelist"), api.get("blogs/count.json")]
        served = [api.get("products.json"), owner_client.get("catalog_product_changelist")]

    for response in responses:
        assert_retry_later(response)
    assert [response.status_code for response in served] == [200] * 2


@pytest.fixture
def open_write(api: ApiClient, owner_client: Panel) -> Iterator[None]:
    """Keep another process's transaction open. It updates all tables that even read requests update."""
    with connect_from_outside() as other:
        other.execute("BEGIN" if connection.vendor == "postgresql" else "BEGIN IMMEDIATE")
        for table in ("shops_accesstoken", "shops_shop", "staff_user", "usersessions_usersession"):
            other.execute(f"UPDATE {table} SET id = id")
        yield
        other.execute("ROLLBACK")


def test_readers_never_wait(api: ApiClient, owner_client: Panel, shop: Shop, request: pytest.FixtureRequest) -> None:
    with all_shops_scope():
        AccessToken.objects.update(last_used_at=None)
    home = owner_client.url()
    request.getfixturevalue("open_write")
    began = time.monotonic()

    responses = [api.get("shop.json"), api.get("products.json"), owner_client.http.get(home)]

    assert [response.status_code for response in responses] == [200] * 3
    # A wait would end after the lock timeout, of 5 seconds on PostgreSQL and of 20 seconds on SQLite.
    assert time.monotonic() - began < min(get_time_limit(2), 4.5)
    with all_shops_scope():
        assert AccessToken.objects.get(installation=api.installation).last_used_at is None


def test_use_of_a_token_is_noted(api: ApiClient) -> None:
    api.get("shop.json")

    with all_shops_scope():
        assert AccessToken.objects.get(installation=api.installation).last_used_at is not None


@pytest.fixture
def serialization_errors(run_sql_outside: Sql) -> Iterator[None]:
    """Fail the first commits of a new script tag or blog with a serialization error.

    The table ``undone_times`` contains the number of commits that fail.
    """
    run_sql_outside(
        """
        CREATE SEQUENCE undone;
        CREATE TABLE undone_times (count int);
        INSERT INTO undone_times VALUES (1);
        CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('undone') <= (SELECT count FROM undone_times) THEN
                RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
            END IF;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER undo AFTER INSERT ON content_scripttag DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION undo();
        CREATE CONSTRAINT TRIGGER undo AFTER INSERT ON content_blog DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION undo();
        """
    )
    yield
    run_sql_outside("DROP FUNCTION undo CASCADE; DROP SEQUENCE undone; DROP TABLE undone_times;")


@pytest.mark.postgres
@pytest.mark.usefixtures("serialization_errors")
@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "k"}], ids=["plain", "with a key"])
def test_commit_that_fails_once_is_done_again(api: ApiClient, shop: Shop, headers: dict[str, str]) -> None:
    response = api.post("script_tags.json", build_body(), **headers)

    assert response.status_code == 201
    assert get_tag_ids(shop) == [response.json()["script_tag"]["id"]]


@pytest.mark.postgres
@pytest.mark.usefixtures("serialization_errors")
def test_repeatedly_failing_commits_are_503(
    api: ApiClient, owner_client: Panel, shop: Shop, run_sql_outside: Sql
) -> None:
    run_sql_outside("UPDATE undone_times SET count = 100")

    assert_retry_later(api.post("script_tags.json", build_body(), idempotency_key="k"))
    form = {"title": "x", "commentable": "no", "handle": "", "template_suffix": "", **NO_METAFIELDS}
    assert_retry_later(owner_client.post("content_blog_add", **form))
    run_sql_outside("UPDATE undone_times SET count = 0")
    later = api.post("script_tags.json", build_body(), idempotency_key="k")

    assert later.status_code == 201
    assert "Idempotent-Replayed" not in later
    assert len(get_tag_ids(shop)) == 1
    with shop_scope(shop):
        assert not Blog.objects.exists()


@pytest.fixture
def deadlock_trigger(run_sql_outside: Sql) -> Iterator[None]:
    """Add a trigger that acquires two locks: for script tag ``a.js`` in one order, for others in reverse order."""
    run_sql_outside(
        """
        CREATE FUNCTION bait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(CASE WHEN NEW.src LIKE '%/a.js' THEN 1 ELSE 2 END);
            PERFORM pg_sleep(2);
            PERFORM pg_advisory_xact_lock(CASE WHEN NEW.src LIKE '%/a.js' THEN 2 ELSE 1 END);
            RETURN NEW;
        END $$;
        CREATE TRIGGER bait BEFORE INSERT ON content_scripttag FOR EACH ROW EXECUTE FUNCTION bait();
        """
    )
    yield
    run_sql_outside("DROP FUNCTION bait CASCADE")


@pytest.mark.postgres
@pytest.mark.deadlocks(1)
@pytest.mark.usefixtures("deadlock_trigger")
@pytest.mark.race(control="test_a_deadlock_is_503_without_a_retry")
def test_two_requests_in_a_deadlock_both_succeed(client_with: ClientWith, shop: Shop) -> None:
    assert post_concurrently(client_with) == [201, 201]
    assert len(get_tag_ids(shop)) == 2


@pytest.mark.postgres
@pytest.mark.deadlocks(1)
@pytest.mark.usefixtures("deadlock_trigger")
def test_a_deadlock_is_503_without_a_retry(
    client_with: ClientWith, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "is_rolled_back", lambda _: False)

    assert post_concurrently(client_with) == [201, 503]
    assert len(get_tag_ids(shop)) == 1


def post_concurrently(client_with: ClientWith) -> list[int]:
    """Create a script tag as each of two apps. Requests of one app would wait for the lock of its installation."""
    apis = {name: client_with("write_script_tags") for name in "ab"}
    responses: list[Response] = []

    def post(name: str) -> None:
        api = apis[name]
        client = Client(headers={"X-Platform-Access-Token": api.token})
        responses.append(client.post(api.path("script_tags.json"), build_body(name), content_type="application/json"))
        connection.close()

    threads = [threading.Thread(target=post, args=name) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    return sorted(response.status_code for response in responses)


@pytest.mark.postgres
def test_requests_survive_a_changed_column_type(api: ApiClient, change_column_type: Callable[[str], None]) -> None:
    created = api.post("script_tags.json", build_body()).json()["script_tag"]
    path = f"script_tags/{created['id']}.json"
    before = [api.get("script_tags.json"), api.get(path), api.put(path, build_body("b"))]

    change_column_type("text")
    after = [api.get("script_tags.json", limit=250), api.get(path), api.put(path, build_body("c"))]
    after.append(api.post("script_tags.json", build_body("d")))

    assert [response.status_code for response in before] == [200] * 3
    assert [response.status_code for response in after] == [200] * 3 + [201]
