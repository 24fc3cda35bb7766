"""Tests of importing blogs, script tags, webhooks, metafields of all owners, and redirects of changed handles."""

import pytest
from django.core.management import call_command

from apps.content.models import Comment, ScriptTag
from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import shop_scope
from apps.metafields.models import Metafield
from apps.shops.domain.app_installation import uninstall_app
from apps.store_imports.models import ImportProblem, MappedId
from apps.webhooks.models import Subscription
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.old_store import add_metafield, post
from tests.store_imports.test_following import follow
from tests.store_imports.test_import_store import OWN_TABLES, get_counts
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.factories.catalog import ATTACHMENT
from tests.support.types import Json, JsonObject

_DIFFERENT = {"id", "blog_id", "article_id", "user_id", "updated_at", "admin_graphql_api_id", "src"}


@pytest.fixture
def blog(importer: StoreImporter) -> JsonObject:
    """Return a blog of the store with two articles and five comments."""
    source = importer.source
    created = post(source, "blogs", "blog", {"title": "News", "commentable": "moderate"})
    path = f"blogs/{created['id']}/articles"
    article = post(source, path, "article", {
        "title": "Opening", "handle": "opening", "author": "Ada", "tags": "shop, new", "body_html": "<p>Come in</p>",
        "summary_html": "Come", "published_at": "2024-05-06T07:08:09Z",
        "image": {"attachment": ATTACHMENT, "alt": "The shop", "filename": "shop.png"},
    })  # fmt: skip
    post(source, path, "article", {"title": "Draft", "author": "Ada", "published": False})
    post(source, "blogs", "blog", {"title": "Empty"})
    for status in ("published", "unapproved", "spam", "remove", "published"):
        body = {"body": f"A {status} comment", "author": "Bob", "email": "bob@example.com", "article_id": article["id"]}
        if status == "published":
            body["published_at"] = "2024-06-01T00:00:00Z"
        comment = post(source, "comments", "comment", body)
        if status in {"spam", "remove"}:
            assert source.post(f"comments/{comment['id']}/{status}.json").status_code == 200
    return dict(created)


def describe_blogs(api: ApiClient) -> Json:
    """Return the blogs with their articles and comments, without what differs in each shop."""
    blogs = sorted(api.get("blogs.json").json()["blogs"], key=lambda row: row["handle"])
    articles = [
        article for row in blogs for article in api.get(f"blogs/{row['id']}/articles.json").json()["articles"][::-1]
    ]
    for article in articles:
        if image := article.get("image"):
            image.pop("created_at")
            image["src"] = image["src"].partition("?")[2]
    comments = api.get("comments.json").json()["comments"]
    return [
        {name: value for name, value in row.items() if name not in _DIFFERENT} for row in blogs + articles + comments
    ]


def test_blogs_are_imported_once_with_articles_and_comments(importer: StoreImporter, blog: JsonObject) -> None:
    counts = get_counts(importer.run())

    assert describe_blogs(importer.target) == describe_blogs(importer.source)
    assert (counts["blogs"], counts["articles"], counts["comments"]) == ([2, 0, 0, 0], [2, 0, 0, 0], [5, 0, 0, 0])
    statuses = [row["status"] for row in importer.target.get("comments.json").json()["comments"]]
    assert statuses == ["published", "unapproved", "spam", "removed", "published"]
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        second = get_counts(importer.run())
    assert {(new, changed, failed) for new, changed, _, failed in second.values()} == {(0, 0, 0)}


def test_later_changes_of_articles_and_comments_are_imported(importer: StoreImporter, blog: JsonObject) -> None:
    importer.run()
    source = importer.source
    opening = source.get(f"blogs/{blog['id']}/articles.json", handle="opening").json()["articles"][0]
    path = f"blogs/{blog['id']}/articles/{opening['id']}.json"
    assert source.put(path, {"article": {"title": "Opened", "tags": "old"}}).status_code == 200
    first, second, spam, removed, deleted = source.get("comments.json").json()["comments"]
    assert source.post(f"comments/{first['id']}/spam.json").status_code == 200
    assert source.post(f"comments/{second['id']}/approve.json").status_code == 200
    assert source.post(f"comments/{spam['id']}/not_spam.json").status_code == 200
    assert source.post(f"comments/{removed['id']}/restore.json").status_code == 200
    with shop_scope(importer.shop):
        ours = MappedId.objects.get(resource="comment", source_id=deleted["id"]).target_id
        Comment.objects.filter(pk=ours).delete()
    image = get_article(importer)["image"]

    counts = get_counts(importer.run())
    verified = importer.run("--verify")

    assert f"comments {deleted['id']}: deleted in this shop: the import does not create it again" in verified
    assert "comments: 4 equal, 0 differing, 0 missing here, 0 deleted here, 0 more here, 1 listed" in verified
    assert [row for row in describe_blogs(importer.target) if "body" not in row] == [
        row for row in describe_blogs(source) if "body" not in row
    ]
    statuses = [row["status"] for row in importer.target.get("comments.json").json()["comments"]]
    assert statuses == ["spam", "published", "unapproved", "unapproved"]
    assert (counts["articles"], counts["comments"]) == ([0, 1, 1, 0], [0, 4, 1, 0])
    # The image has not changed, so it was not downloaded again.
    assert get_article(importer)["image"] == image
    assert source.put(path, {"article": {"image": None}}).status_code == 200
    importer.run()
    assert "image" not in get_article(importer)


def add_comment(api: ApiClient, blog: JsonObject) -> None:
    """Add an article with a comment, because the import does not trust a list that becomes empty."""
    article = post(api, f"blogs/{blog['id']}/articles", "article", {"title": "Other", "author": "Ada"})
    body = {"body": "Nice", "author": "Bob", "email": "bob@example.com", "article_id": article["id"]}
    post(api, "comments", "comment", body)


def test_blogs_and_articles_deleted_in_the_store_are_deleted_here(importer: StoreImporter, blog: JsonObject) -> None:
    source, target = importer.source, importer.target
    add_comment(source, source.get("blogs.json", handle="empty").json()["blogs"][0])
    kept = post(source, "blogs", "blog", {"title": "Kept"})
    article = post(source, f"blogs/{kept['id']}/articles", "article", {"title": "Changed here", "author": "Ada"})
    with follow(importer) as passes:
        next(passes)
        ours = {row["title"]: row["id"] for row in target.get("blogs.json").json()["blogs"]}
        [copy] = target.get(f"blogs/{ours['Kept']}/articles.json").json()["articles"]
        response = target.put(f"blogs/{ours['Kept']}/articles/{copy['id']}.json", {"article": {"title": "Ours"}})
        assert response.status_code == 200
        for deleted in (blog, kept):
            assert source.delete(f"blogs/{deleted['id']}.json").status_code == 200

        # Five comments, two articles and their blog.
        assert next(passes).deleted == 8
        assert next(passes).deleted == 0

    assert {row["title"] for row in target.get("blogs.json").json()["blogs"]} == {"Empty", "Kept"}
    with shop_scope(importer.shop):
        notes = {
            row.stream: row.reason for row in ImportProblem.objects.filter(source_id__in=[kept["id"], article["id"]])
        }
    assert notes["articles"].endswith("because it was changed in this shop.")
    assert notes["blogs"].endswith("It was kept: The blog has articles in this shop.")


def get_article(importer: StoreImporter) -> JsonObject:
    blog_id = importer.target.get("blogs.json", handle="news").json()["blogs"][0]["id"]
    article: JsonObject = importer.target.get(f"blogs/{blog_id}/articles.json", handle="opening").json()["articles"][0]
    return article


def get_redirects(api: ApiClient) -> dict[str, str]:
    return {row["path"]: row["target"] for row in api.get("redirects.json").json()["redirects"]}


def test_changed_handles_become_redirects_without_loops(importer: StoreImporter, blog: JsonObject) -> None:
    source = importer.source
    bodies: dict[str, JsonObject] = {"product": {}, "custom_collection": {}, "page": {}}
    ids = {name: post(source, f"{name}s", name, {"title": "Old", "handle": "old"})["id"] for name in bodies}
    importer.run()
    assert get_redirects(importer.target) == {}
    for name, pk in ids.items():
        assert source.put(f"{name}s/{pk}.json", {name: {"handle": "new"}}).status_code == 200
    assert source.put(f"blogs/{blog['id']}.json", {"blog": {"handle": "journal"}}).status_code == 200
    post(importer.target, "custom_collections", "custom_collection", {"title": "Other", "handle": "new"})
    # The store redirects the old path of the page, which is still the path of the page in this shop.
    post(source, "redirects", "redirect", {"path": "/pages/old", "target": "/pages/new"})

    output = importer.run()

    expected = {
        "/products/new": "/products/old",
        "/pages/new": "/pages/old",
        "/blogs/journal": "/blogs/news",
        "/blogs/journal/opening": "/blogs/news/opening",
        "/blogs/journal/draft": "/blogs/news/draft",
    }
    assert get_redirects(importer.target) == expected
    assert "The redirect from /pages/old to /pages/new is not needed" in output
    assert f"custom_collections {ids['custom_collection']}: note: There is no redirect from /collections/new" in output
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        importer.run()


def test_script_tags_and_paused_webhooks_belong_to_an_app_of_the_import(importer: StoreImporter) -> None:
    source = importer.source
    tag = post(source, "script_tags", "script_tag", {"src": "https://app.example/a.js", "event": "onload"})
    webhook = post(source, "webhooks", "webhook", {
        "address": "https://app.example/hooks", "topic": "products/update", "fields": ["id", "title"],
        "metafield_namespaces": ["facts"],
    })  # fmt: skip

    importer.run()

    with shop_scope(importer.shop):
        script = ScriptTag.objects.get()
        subscription = Subscription.objects.get()
        installation = Installation.objects.get(app=subscription.app)
    assert (script.src, script.app_id) == (tag["src"], subscription.app_id)
    assert (subscription.uri, subscription.state) == (webhook["address"], "paused")
    assert (subscription.include_fields, subscription.metafield_namespaces) == (["id", "title"], ["facts"])
    assert {"read_products", "read_script_tags"} <= set(installation.scopes)
    body = {"webhook": {"address": "https://app.example/other"}}
    assert source.put(f"webhooks/{webhook['id']}.json", body).status_code == 200
    counts = get_counts(importer.run())
    assert (counts["webhooks"], counts["script_tags"]) == ([0, 1, 0, 0], [0, 0, 1, 0])
    with shop_scope(importer.shop):
        subscription.refresh_from_db()
        assert (subscription.uri, subscription.state) == ("https://app.example/other", "paused")
        uninstall_app(installation, actor="system", at=subscription.created_at)

    output = importer.run()

    assert f"script_tags {tag['id']}: note: The app of the imported script tags and webhooks was uninstalled" in output
    with shop_scope(importer.shop):
        assert not ScriptTag.objects.exists()


def test_metafields_of_all_owners_are_imported(importer: StoreImporter, blog: JsonObject) -> None:
    source = importer.source
    product = post(source, "products", "product", {"title": "Chair", "images": [{"attachment": ATTACHMENT}]})
    article = source.get(f"blogs/{blog['id']}/articles.json").json()["articles"][0]
    post(source, "metafields", "metafield", {
        "namespace": "facts", "key": "about", "type": "single_line_text_field", "value": "The shop",
    })  # fmt: skip
    owners = {
        "blog": f"blogs/{blog['id']}",
        "article": f"articles/{article['id']}",
        "variant": f"variants/{product['variants'][0]['id']}",
        "product_image": f"product_images/{product['images'][0]['id']}",
    }
    for name, path in owners.items():
        add_metafield(source, path, "single_line_text_field", f"A {name}")

    importer.run()

    def get_values() -> dict[str, str]:
        with shop_scope(importer.shop):
            return dict(Metafield.objects.values_list("owner_resource", "value"))

    assert get_values() == {"shop": "The shop", "blog": "A blog", "article": "A article"}
    call_command("import_store", *importer.get_arguments(), "--with-variant-metafields", stdout=importer.output)
    assert get_values() == {"shop": "The shop", **{name: f"A {name}" for name in owners}}
