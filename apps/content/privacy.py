"""Content columns that never contain personal data of customers (see ``apps.ground.privacy_registry``)."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "content.FileContent": ("sha256", "md5"),
    "content.Blog": ("title", "handle", "template_suffix", "tags"),
    "content.Article": (
        "title",
        "handle",
        "body_html",
        "summary_html",
        "author",
        "tags",
        "template_suffix",
        "image_name",
        "image_alt",
    ),
    "content.ArticleVersion": ("title", "body_html", "summary_html", "actor"),
    "content.ArticleTag": ("name", "key"),
    "content.MobilePlatformApplication": ("application_id", "sha256_cert_fingerprints", "app_clip_application_id"),
    "content.ScriptTag": ("src",),
    "content.StoreFile": ("name",),
    "content.ScriptCopy": ("src", "error"),
    "content.Theme": ("name", "src", "failure"),
    "content.Asset": ("key", "actor"),
    "content.AssetVersion": ("key", "actor"),
}
