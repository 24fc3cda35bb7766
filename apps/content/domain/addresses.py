"""The public addresses of a shop's files.

They are served by ``apps.content.public.views``.
"""

from urllib.parse import quote

from django.conf import settings

from apps.shops.models import Shop


def storefront_url(shop: Shop, path: str) -> str:
    """An address below the shop's public part of this installation."""
    return f"{settings.BASE_URL}/storefront/{shop.domain}/{path}"


def article_image_url(shop: Shop, article_id: int, name: str, sha256: str) -> str:
    """Where an article's picture is seen; the query changes with its bytes."""
    return storefront_url(shop, f"articles/{article_id}/{quote(name)}?v={picture_version(sha256)}")


def store_file_url(shop: Shop, name: str, sha256: str) -> str:
    """Where a picture that staff keep for texts is seen."""
    return storefront_url(shop, f"files/{quote(name)}?v={picture_version(sha256)}")


def path_of(url: str) -> str:
    """The same address on the host of the page that shows it, as the panel's policy demands."""
    return "/storefront/" + url.partition("/storefront/")[2]


def picture_version(sha256: str) -> str:
    """What an address says of the bytes behind it, so that it may be cached for good."""
    return sha256[:12]


def asset_url(shop: Shop, theme_id: int, key: str, md5: str) -> str | None:
    """Where a theme's file is seen; only those under ``assets/`` are."""
    if not key.startswith("assets/"):
        return None
    return storefront_url(shop, f"themes/{theme_id}/{key}?v={md5[:12]}")
