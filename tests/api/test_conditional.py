"""Rendered objects are kept under their version: never stale, and known again by their entity tag."""

from apps.content.models import ScriptTag
from apps.shops.models import Shop
from apps.shops.tenancy import every_shop, shop_scope
from tests.conftest import ApiClient
from tests.factories import ScriptTagFactory


def test_a_change_through_any_face_is_seen_at_once(api: ApiClient, shop: Shop) -> None:
    tag = ScriptTagFactory.create(shop=shop, app=api.installation.app)
    path = f"script_tags/{tag.pk}.json"
    assert api.get(path).json()["script_tag"]["cache"] is False

    with shop_scope(shop):
        ScriptTag.objects.filter(pk=tag.pk).update(cache=True)
    by_update = api.get(path).json()["script_tag"]["cache"]
    tag.cache = False
    tag.save(update_fields=["cache"])
    by_save = api.get(path).json()["script_tag"]["cache"]

    assert (by_update, by_save) == (True, False)


def test_the_shops_time_zone_is_part_of_what_is_kept(api: ApiClient, shop: Shop) -> None:
    tag = ScriptTagFactory.create(shop=shop, app=api.installation.app)
    path = f"script_tags/{tag.pk}.json"
    before = api.get(path).json()["script_tag"]["created_at"]

    with every_shop():
        Shop.objects.filter(pk=shop.pk).update(timezone="Asia/Tokyo")
    after = api.get(path).json()["script_tag"]["created_at"]

    assert before[-6:] in {"-05:00", "-04:00"}
    assert after.endswith("+09:00")


def test_a_known_tag_is_304_until_something_changes(api: ApiClient, shop: Shop) -> None:
    tag = ScriptTagFactory.create(shop=shop, app=api.installation.app)
    for path in (f"script_tags/{tag.pk}.json", "script_tags.json"):
        etag = api.get(path)["ETag"]
        known = api.http.get(api.path(path), headers={"If-None-Match": etag})
        tag.save()
        changed = api.http.get(api.path(path), headers={"If-None-Match": etag})

        assert (known.status_code, known.content) == (304, b"")
        assert changed.status_code == 200
        assert changed["ETag"] != etag


def test_two_shops_share_no_kept_object(api: ApiClient, foreign_api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    mine = ScriptTagFactory.create(shop=shop, app=api.installation.app)
    ScriptTagFactory.create(shop=other_shop, app=foreign_api.installation.app)

    own = api.get("script_tags.json").json()["script_tags"]
    foreign = foreign_api.get("script_tags.json").json()["script_tags"]

    assert [row["id"] for row in own] == [mine.pk]
    assert mine.pk not in [row["id"] for row in foreign]
