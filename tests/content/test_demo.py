"""Tests for the demo shop's content."""

from datetime import timedelta

from django.utils import timezone

from apps.content.demo import load
from apps.content.domain import assets, blob_store
from apps.content.domain.script_loader import is_vintage
from apps.content.domain.theme_archive import DIRECTORIES
from apps.content.models import Article, Asset, Blog, MobilePlatformApplication, ScriptTag, Theme
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop


def test_the_demo_store_has_a_complete_theme_and_a_journal(shop: Shop) -> None:
    now = timezone.now()
    with shop_scope(shop):
        load.load_demo_content(shop, now)

        main = Theme.objects.get(role="main")
        files = list(Asset.objects.select_related("content").filter(theme=main))
        assert main.name == "Skein"
        assert 38 <= len(files) <= 45
        assert {asset.key.split("/")[0] for asset in files} == DIRECTORIES - {"blocks"}
        assert is_vintage(main)
        for asset in files:
            assets.check_asset_key(asset.key)
            assets.check_asset_content(asset.key, blob_store.read_blob(asset.content))
        blog = Blog.objects.get()
        assert (blog.handle, Article.objects.filter(blog=blog).count()) == ("journal", 10)
        assert Article.objects.filter(published_at__lte=now).count() == 8
        assert Article.objects.filter(published_at__gt=now + timedelta(days=1)).count() == 1
        assert Article.objects.exclude(image=None).count() == 5
        assert MobilePlatformApplication.objects.count() == 2
        assert ScriptTag.objects.get().app.name == "Size guide"
