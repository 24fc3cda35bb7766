"""Build the public URLs of a shop's files, which ``apps.content.storefront.views`` serves."""

from urllib.parse import quote

from django.conf import settings

from apps.core.tenancy.models import Shop


def get_storefront_url(shop: Shop, path: str) -> str:
    return f"{settings.BASE_URL}/storefront/{shop.domain}/{path}"


def get_article_image_url(shop: Shop, article_id: int, name: str, sha256: str) -> str:
    return get_storefront_url(shop, f"articles/{article_id}/{quote(name)}?v={get_image_version(sha256)}")


def get_store_file_url(shop: Shop, name: str, sha256: str) -> str:
    return get_storefront_url(shop, f"files/{quote(name)}?v={get_image_version(sha256)}")


def get_local_path(url: str) -> str:
    """Return the URL without the host, because the panel's content security policy allows only the current host."""
    return "/storefront/" + url.partition("/storefront/")[2]


def get_image_version(sha256: str) -> str:
    """Return the version for an image URL. A changed image gets a new URL, so browsers may cache URLs forever."""
    return sha256[:12]


def get_asset_url(shop: Shop, theme_id: int, key: str, md5: str) -> str | None:
    """Return the public URL of a theme file, or None if the file is outside ``assets/``."""
    if not key.startswith("assets/"):
        return None
    return get_storefront_url(shop, f"themes/{theme_id}/{quote(key, safe='/@')}?v={md5[:12]}")
