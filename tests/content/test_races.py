"""See check M11 in docs/reliability.md."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from apps.content.domain import articles, blob_store, blogs, themes
from apps.content.models import Article, Blog, FileContent, Theme
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shops import lock_shop
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted, without_constraint
from tests.support.factories.content import make_blog

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

SHOPS_AND_THEMES = {"shops_shop", "content_theme"}


@pytest.fixture(
    params=[
        pytest.param(10, id="10 rounds"),
        pytest.param(50, id="50 rounds", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ]
)
def rounds(request: pytest.FixtureRequest) -> int:
    """Return how often a race is repeated, because some interleavings are rare."""
    return int(request.param)


def create_blog(shop: Shop) -> Blog:
    with shop_scope(shop):
        return make_blog()


def create_drafts(shop: Shop, count: int) -> list[Theme]:
    with shop_scope(shop):
        main = Theme.objects.get(role="main")
        return [
            themes.duplicate_theme(main, name=f"Draft {n}", actor="staff:1", at=timezone.now()) for n in range(count)
        ]


def create_theme() -> Theme:
    return themes.create_theme(name="New", actor="staff:1", at=timezone.now())


def write_article(blog_id: int, **attrs: str) -> Callable[[], Article]:
    return lambda: articles.create_article(blog_id, {"title": "Hello", **attrs}, actor="staff:1", at=timezone.now())


def publish_in_transaction(theme: Theme) -> Callable[[], object]:
    return lambda: themes.publish_theme(Theme.objects.get(pk=theme.pk), actor="staff:1", at=timezone.now())


def delete_in_transaction(theme: Theme) -> Callable[[], object]:
    return lambda: themes.delete_theme(Theme.objects.get(pk=theme.pk), actor="staff:1", at=timezone.now())


@pytest.mark.race(control="test_the_index_allows_one_published_theme_without_the_lock")
def test_two_publishes_at_once_always_leave_exactly_one_published_theme(shop: Shop, rounds: int) -> None:
    first_draft, two = create_drafts(shop, 2)

    for _ in range(rounds):
        results = run_concurrently(shop, publish_in_transaction(first_draft), publish_in_transaction(two))

        assert results == [None, None]
        with shop_scope(shop):
            assert Theme.objects.filter(role="main").count() == 1
            assert Theme.objects.get(role="main").pk in {first_draft.pk, two.pk}


def test_the_index_allows_one_published_theme_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both requests publish a theme, and the unique index rejects one."""
    first_draft, two = create_drafts(shop, 2)

    with pytest.raises(IntegrityError, match="content_theme_one_main_per_shop"):
        run_unguarded(shop, publish_in_transaction(first_draft), publish_in_transaction(two), locks=SHOPS_AND_THEMES)


def test_a_just_published_theme_is_deleted_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the deletion still sees a draft, and the shop has no published theme."""
    (draft,) = create_drafts(shop, 1)

    run_unguarded(shop, publish_in_transaction(draft), delete_in_transaction(draft), locks=SHOPS_AND_THEMES)

    with shop_scope(shop):
        assert not Theme.objects.filter(role="main").exists()


@pytest.mark.race(control="test_a_just_published_theme_is_deleted_without_the_lock")
def test_publishing_and_deleting_one_theme_at_once_never_deletes_the_published_one(shop: Shop, rounds: int) -> None:
    for _ in range(rounds // 2):
        (draft,) = create_drafts(shop, 1)
        results = run_concurrently(
            shop,
            publish_in_transaction(draft),
            delete_in_transaction(draft),
            expected_errors=(DomainError, Theme.DoesNotExist),
        )
        assert any(isinstance(result, DomainError | Theme.DoesNotExist) for result in results)
        with shop_scope(shop):
            assert Theme.objects.filter(role="main").count() == 1
            Theme.objects.exclude(role="main").delete()


@pytest.mark.race(control="test_a_21st_theme_is_created_without_the_shops_lock")
def test_ten_creates_at_once_stop_at_twenty_themes(shop: Shop) -> None:
    create_drafts(shop, 14)

    results = run_concurrently(shop, *[create_theme] * 10)

    assert sum(isinstance(result, themes.TooManyThemes) for result in results) == 5
    with shop_scope(shop):
        assert Theme.objects.count() == 20


def test_a_21st_theme_is_created_without_the_shops_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both requests count nineteen themes."""
    with shop_scope(shop):
        Theme.objects.bulk_create(Theme(shop=shop, name=f"Theme {number}") for number in range(18))

    run_unguarded(shop, create_theme, create_theme, locks={"shops_shop"})

    with shop_scope(shop):
        assert Theme.objects.count() == 21


def get_statuses(api: ApiClient, *requests: Callable[[], Response]) -> list[int]:
    return [response.status_code for response in run_concurrently(api.installation.shop, *requests)]


def count_deletion_events(shop: Shop, topic: str, subject: int) -> int:
    with shop_scope(shop):
        return Event.objects.filter(topic=topic, subject_id=subject).count()


@pytest.mark.race(control="test_the_foreign_key_reports_the_deleted_blog_without_its_lock")
def test_deleting_a_blog_during_writes_into_it_leaves_nothing_behind(api: ApiClient, shop: Shop, rounds: int) -> None:
    for _ in range(rounds // 2):
        blog = create_blog(shop)
        delete = partial(api.delete, f"blogs/{blog.pk}.json")
        post = partial(api.post, f"blogs/{blog.pk}/articles.json", {"article": {"title": "Hello", "tags": "a"}})

        first, deleted, second = get_statuses(api, post, delete, post)

        assert ({first, second} <= {201, 404}, deleted) == (True, 200)
        with shop_scope(shop):
            assert not Article.objects.exists()


def test_the_foreign_key_reports_the_deleted_blog_without_its_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the foreign key to the deleted blog fails only at the commit."""
    blog = create_blog(shop)
    pk = blog.pk

    def delete() -> None:
        blogs.delete_blog(blog, actor="system", at=timezone.now())

    with pytest.raises(IntegrityError, match="is not present"):
        run_unguarded(shop, delete, write_article(pk), locks={"content_blog"})


@pytest.mark.race(control="test_an_article_and_a_theme_are_deleted_twice_without_locks")
def test_an_article_is_deleted_once_and_not_changed_afterwards(api: ApiClient, shop: Shop, rounds: int) -> None:
    blog = create_blog(shop)
    for _ in range(rounds // 2):
        with shop_scope(shop):
            article = write_article(blog.pk)()
        path = f"blogs/{blog.pk}/articles/{article.pk}.json"

        changed, *deleted = get_statuses(
            api,
            partial(api.put, path, {"article": {"title": "Again", "tags": "b"}}),
            partial(api.delete, path),
            partial(api.delete, path),
        )

        assert changed in {200, 404}
        assert sorted(deleted) == [200, 404]
        assert count_deletion_events(shop, "articles/delete", article.pk) == 1


@pytest.mark.race(control="test_an_article_and_a_theme_are_deleted_twice_without_locks")
def test_a_theme_is_deleted_once_under_concurrent_changes(api: ApiClient, shop: Shop, rounds: int) -> None:
    for _ in range(rounds // 2):
        (theme,) = create_drafts(shop, 1)
        path, files = f"themes/{theme.pk}.json", f"themes/{theme.pk}/assets.json"

        renamed, saved, removed, *deleted = get_statuses(
            api,
            partial(api.put, path, {"theme": {"name": "Other"}}),
            partial(api.put, files, {"asset": {"key": "assets/a.css", "value": "a{}"}}),
            partial(api.delete, f"{files}?asset[key]=assets/theme.css"),
            partial(api.delete, path),
            partial(api.delete, path),
        )

        assert {renamed, saved, removed} <= {200, 404}
        assert sorted(deleted) == [200, 404]
        assert count_deletion_events(shop, "themes/delete", theme.pk) == 1


def test_an_article_and_a_theme_are_deleted_twice_without_locks(api: ApiClient, shop: Shop) -> None:
    """Show what goes wrong without the locks: both requests find the row and record a deletion."""
    (theme,) = create_drafts(shop, 1)
    article, _ = load_article_twice(shop)

    def delete_article() -> None:
        articles.delete_article(Article.objects.get(pk=article.pk), actor="staff:1", at=timezone.now())

    run_unguarded(shop, delete_article, delete_article, locks={"content_blog", "content_article"})
    run_unguarded(shop, delete_in_transaction(theme), delete_in_transaction(theme), locks=SHOPS_AND_THEMES)

    assert count_deletion_events(shop, "articles/delete", article.pk) == 2
    assert count_deletion_events(shop, "themes/delete", theme.pk) == 2


@pytest.mark.race(control="test_renaming_the_published_theme_before_locking_the_shop_deadlocks")
def test_two_themes_sent_back_as_published_do_not_block_each_other(api: ApiClient, shop: Shop, rounds: int) -> None:
    first_draft, two = create_drafts(shop, 2)
    for number in range(rounds // 2):
        bodies = {theme.pk: {"theme": {"role": "main", "name": f"{theme} {number}"}} for theme in (first_draft, two)}

        results = get_statuses(api, *(partial(api.put, f"themes/{pk}.json", body) for pk, body in bodies.items()))

        assert results == [200, 200]


@pytest.mark.deadlocks(1)
def test_renaming_the_published_theme_before_locking_the_shop_deadlocks(shop: Shop) -> None:
    """Show the deadlock that occurs if a request renames the theme before locking the shop."""
    (draft,) = create_drafts(shop, 1)
    with shop_scope(shop):
        main = Theme.objects.get(role="main")

    def send_back() -> None:
        with transaction.atomic():
            themes.rename_theme(main, "Other", actor="staff:1", at=timezone.now())
            themes.publish_theme(main, actor="staff:1", at=timezone.now())

    with pytest.raises(OperationalError, match="deadlock"):
        run_while_uncommitted(shop, lock_shop, send_back, then=lambda: themes.lock_theme(draft))


@pytest.mark.race(control="test_articles_get_the_same_handle_without_the_blogs_lock")
def test_articles_of_one_title_written_at_once_get_different_handles(shop: Shop) -> None:
    blog = create_blog(shop)

    results = run_concurrently(shop, *[write_article(blog.pk, tags="a, b")] * 8)

    assert {result.handle for result in results} == {"hello", *(f"hello-{number}" for number in range(1, 8))}
    with shop_scope(shop):
        blog.refresh_from_db()
    assert blog.tags == "a, b"


def test_articles_get_the_same_handle_without_the_blogs_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both requests choose the same handle, and one is rejected."""
    blog = create_blog(shop)

    write = write_article(blog.pk)

    with pytest.raises(IntegrityError, match="content_article_handle_once_per_blog"):
        run_unguarded(shop, write, write, locks={"content_blog"})


@pytest.mark.race(control="test_the_same_bytes_are_stored_twice_without_the_unique_key")
def test_the_same_bytes_stored_at_once_are_one_content(shop: Shop) -> None:
    datas = [f"text {number}".encode() for number in range(40)]

    results = run_concurrently(shop, *(partial(blob_store.store_blobs, some) for some in [datas, datas[::-1]] * 4))

    assert {frozenset(row.pk for row in rows) for rows in results} == {frozenset(row.pk for row in results[0])}
    with shop_scope(shop):
        assert FileContent.objects.filter(sha256__in=[row.sha256 for row in results[0]], stored=True).count() == 40


def test_the_same_bytes_are_stored_twice_without_the_unique_key(shop: Shop) -> None:
    """Show what goes wrong without the unique constraint: the same bytes are stored twice."""
    with without_constraint(FileContent, "shop_id", "sha256"):
        run_unguarded(shop, *[partial(blob_store.store_blob, b"text")] * 2)

        with shop_scope(shop):
            assert FileContent.objects.filter(size=4).count() == 2


def store_unused(shop: Shop, data: bytes) -> FileContent:
    """Store content that has been unused for longer than the grace period."""
    with shop_scope(shop):
        content = blob_store.store_blob(data)
        FileContent.objects.filter(pk=content.pk).update(used_at=timezone.now() - blob_store.GRACE_PERIOD * 2)
    return content


def clear_contents() -> int:
    return blob_store.delete_unused_blobs(timezone.now())


@pytest.mark.race(control="test_a_file_cleared_without_its_lock_is_lost_to_its_writer")
def test_contents_that_are_wanted_again_are_not_cleared_from_under_a_writer(shop: Shop, rounds: int) -> None:
    for number in range(rounds // 2):
        data = f"wanted {number}".encode()
        store_unused(shop, data)

        result_1, _ = run_concurrently(shop, partial(blob_store.store_blob, data), clear_contents)

        with shop_scope(shop):
            assert blob_store.read_blob(FileContent.objects.get(pk=result_1.pk, stored=True)) == data


def test_a_file_cleared_without_its_lock_is_lost_to_its_writer(shop: Shop) -> None:
    """Show what goes wrong without the lock: the cleanup deletes content that another request has just stored again."""
    content = store_unused(shop, b"wanted")

    run_unguarded(shop, partial(blob_store.store_blob, b"wanted"), clear_contents, locks={"content_filecontent"})

    with shop_scope(shop):
        assert not FileContent.objects.get(pk=content.pk).stored


def change_article(article: Article, **attrs: object) -> Callable[[], object]:
    return lambda: articles.update_article(article, dict(attrs), actor="staff:1", at=timezone.now())


def load_article_twice(shop: Shop) -> tuple[Article, Article]:
    """Create an article and return it twice, as read by two requests before either writes."""
    with shop_scope(shop):
        blog = make_blog()
        attrs = {"title": "x", "body_html": "first", "tags": "a"}
        article = articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())
        return Article.objects.get(pk=article.pk), Article.objects.get(pk=article.pk)


def get_outcome(shop: Shop, article: Article) -> tuple[set[str], set[str], set[str], set[str]]:
    """Return the tags of the article, of its tag rows and of its blog, and all versions of the article's text."""
    with shop_scope(shop):
        row = Article.objects.get(pk=article.pk)
        texts = {row.body_html, *row.text_versions.values_list("body_html", flat=True)}
        rows = set(row.tag_rows.values_list("name", flat=True))
        return set(row.tags.split(", ")), rows, set(row.blog.tags.split(", ")), texts


@pytest.mark.race(control="test_an_update_based_on_values_read_before_the_lock_loses_text")
def test_concurrent_updates_lose_no_text_and_keep_the_tags_consistent(shop: Shop, rounds: int) -> None:
    for _ in range(rounds // 2):
        first, two = load_article_twice(shop)

        run_concurrently(
            shop, change_article(first, tags="b", body_html="second"), change_article(two, tags="a", body_html="third")
        )

        tags, rows, of_blog, texts = get_outcome(shop, first)
        assert tags == rows == of_blog
        assert texts == {"first", "second", "third"}


def test_an_update_based_on_values_read_before_the_lock_loses_text(shop: Shop) -> None:
    """Show what goes wrong without the locks on blog and article: both requests save the first text as the old one."""
    first, two = load_article_twice(shop)

    run_unguarded(
        shop,
        change_article(first, tags="b", body_html="second"),
        change_article(two, tags="c", body_html="third"),
        locks={"content_blog", "content_article"},
    )

    *_, texts = get_outcome(shop, first)
    assert texts == {"first", "third"}, "the second text is nowhere, as if nobody had written it"
