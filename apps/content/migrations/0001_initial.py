import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import apps.core.i18n.messages
import apps.core.models
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
        ("staff", "__first__"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Article",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("title", models.CharField(max_length=255, verbose_name="title")),
                    ("handle", models.CharField(max_length=255, verbose_name="handle")),
                    ("body_html", models.TextField(blank=True, verbose_name="content")),
                    ("summary_html", models.TextField(blank=True, null=True, verbose_name="excerpt")),
                    ("author", models.CharField(max_length=255, verbose_name="author")),
                    ("tags", models.TextField(blank=True, verbose_name="tags")),
                    (
                        "template_suffix",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="template suffix"),
                    ),
                    ("published_at", models.DateTimeField(blank=True, null=True, verbose_name="published at")),
                    ("image_name", models.CharField(blank=True, editable=False, max_length=255)),
                    ("image_alt", models.CharField(blank=True, max_length=512, null=True, verbose_name="image alt")),
                    ("image_width", models.PositiveIntegerField(default=0, editable=False)),
                    ("image_height", models.PositiveIntegerField(default=0, editable=False)),
                    ("image_created_at", models.DateTimeField(editable=False, null=True)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "user",
                        models.ForeignKey(
                            blank=True,
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                            verbose_name="user",
                        ),
                    ),
                    (
                        "blog",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="articles",
                            to="content.blog",
                            verbose_name="blog",
                        ),
                    ),
                    (
                        "image",
                        models.ForeignKey(
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="image",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "article",
                    "verbose_name_plural": "articles",
                    "indexes": [
                        models.Index(fields=["shop", "author"], name="content_article_by_author"),
                        models.Index(fields=["shop", "blog", "-id"], name="content_article_by_blog"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("blog", "handle"),
                            name="content_article_handle_once_per_blog",
                            violation_error_code="handle",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Blog",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("title", models.CharField(max_length=255, verbose_name="title")),
                    ("handle", models.CharField(max_length=255, verbose_name="handle")),
                    (
                        "commentable",
                        models.CharField(
                            choices=[
                                ("no", "No comments"),
                                ("moderate", "Comments are moderated"),
                                ("yes", "Comments are published immediately"),
                            ],
                            default="no",
                            max_length=10,
                            verbose_name="comments",
                        ),
                    ),
                    (
                        "template_suffix",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="template suffix"),
                    ),
                    ("tags", models.TextField(blank=True, editable=False, verbose_name="tags")),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "blog",
                    "verbose_name_plural": "blogs",
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "handle"),
                            name="content_blog_handle_once_per_shop",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ArticleTag",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("key", models.CharField(max_length=765, verbose_name="key")),
                    (
                        "article",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="tag_rows",
                            to="content.article",
                            verbose_name="article",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "blog",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="content.blog",
                            verbose_name="blog",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "article tag",
                    "verbose_name_plural": "article tags",
                    "indexes": [
                        models.Index(fields=["shop", "key"], name="content_articletag_by_key"),
                        models.Index(fields=["blog", "key"], name="content_articletag_by_blog"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("article", "key"), name="content_articletag_once_per_article")
                    ],
                },
            ),
            migrations.CreateModel(
                name="FileContent",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("sha256", models.CharField(editable=False, max_length=64)),
                    ("md5", models.CharField(editable=False, max_length=32, verbose_name="checksum")),
                    ("size", models.PositiveBigIntegerField(editable=False, verbose_name="size")),
                    ("stored", models.BooleanField(default=False, editable=False)),
                    ("used_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "file content",
                    "verbose_name_plural": "file contents",
                    "indexes": [models.Index(fields=["used_at", "id"], name="content_filecontent_by_use")],
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "sha256"), name="content_filecontent_once_per_shop")
                    ],
                },
            ),
            migrations.CreateModel(
                name="MobilePlatformApplication",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "platform",
                        models.CharField(
                            choices=[("ios", "iOS"), ("android", "Android")], max_length=10, verbose_name="platform"
                        ),
                    ),
                    ("application_id", models.CharField(max_length=255, verbose_name="application ID")),
                    (
                        "sha256_cert_fingerprints",
                        models.JSONField(blank=True, default=list, verbose_name="SHA-256 certificate fingerprints"),
                    ),
                    (
                        "enabled_universal_or_app_links",
                        models.BooleanField(default=False, verbose_name="links open in the app"),
                    ),
                    (
                        "enabled_shared_webcredentials",
                        models.BooleanField(default=False, verbose_name="shared web credentials"),
                    ),
                    ("enabled_app_clips", models.BooleanField(default=False, verbose_name="app clips")),
                    (
                        "app_clip_application_id",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="app clip application ID"),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "mobile app",
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "platform", "application_id"),
                            name="content_mobileapp_once_per_shop_and_platform",
                            violation_error_code="application_id",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ScriptTag",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("src", models.URLField(max_length=2048, verbose_name="source")),
                    (
                        "event",
                        models.CharField(
                            choices=[("onload", "When the page has loaded")],
                            default="onload",
                            max_length=20,
                            verbose_name="event",
                        ),
                    ),
                    (
                        "display_scope",
                        models.CharField(
                            choices=[
                                ("all", "Online store and order status page"),
                                ("online_store", "Online store only"),
                                ("order_status", "Order status page only"),
                            ],
                            default="online_store",
                            max_length=20,
                            verbose_name="shown on",
                        ),
                    ),
                    (
                        "cache",
                        models.BooleanField(
                            default=False,
                            help_text="Serve a cached copy that is refreshed every 15 minutes.",
                            verbose_name="cache",
                        ),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "app",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.app",
                            verbose_name="app",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "script tag",
                    "verbose_name_plural": "script tags",
                    "indexes": [models.Index(fields=["shop", "app", "id"], name="content_scripttag_by_app")],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("src__startswith", "https://")),
                            name="content_scripttag_src_is_https",
                            violation_error_message="must be secure (HTTPS)",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ScriptCopy",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("src", models.URLField(max_length=2048, verbose_name="src")),
                    ("tried_at", models.DateTimeField(default=django.utils.timezone.now)),
                    ("fetched_at", models.DateTimeField(null=True)),
                    ("error", models.CharField(blank=True, max_length=255, verbose_name="error")),
                    (
                        "content",
                        models.ForeignKey(
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="content",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "tag",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="copy",
                            to="content.scripttag",
                            verbose_name="tag",
                        ),
                    ),
                ],
                options={
                    "abstract": False,
                },
            ),
            migrations.CreateModel(
                name="StoreFile",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(editable=False, max_length=255, verbose_name="name")),
                    ("width", models.PositiveIntegerField(editable=False)),
                    ("height", models.PositiveIntegerField(editable=False)),
                    (
                        "content",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="content",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "file",
                    "verbose_name_plural": "files",
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "name"), name="content_storefile_name_once_per_shop")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Theme",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    (
                        "role",
                        models.CharField(
                            choices=[
                                ("main", "Published"),
                                ("unpublished", "Draft"),
                                ("demo", "Demo"),
                                ("development", "Development"),
                            ],
                            default="unpublished",
                            max_length=20,
                            verbose_name="role",
                        ),
                    ),
                    ("src", models.CharField(blank=True, editable=False, max_length=4096, verbose_name="source")),
                    ("previewable", models.BooleanField(default=False, editable=False)),
                    ("processing", models.BooleanField(default=True, editable=False, verbose_name="processing")),
                    ("publish_when_ready", models.BooleanField(default=False, editable=False)),
                    ("failure", apps.core.i18n.messages.MessageField(blank=True, default="", editable=False)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "upload",
                        models.ForeignKey(
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="upload",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "theme",
                    "verbose_name_plural": "themes",
                    "indexes": [models.Index(fields=["shop", "name", "id"], name="content_theme_by_name")],
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("role", "main")),
                            fields=("shop",),
                            name="content_theme_one_main_per_shop",
                            violation_error_code="role",
                            violation_error_message="has already been taken",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("role", "main"), _negated=True), ("previewable", True), _connector="OR"
                            ),
                            name="content_theme_main_is_complete",
                            violation_error_message="is not included in the list",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="AssetVersion",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("key", models.CharField(max_length=255, verbose_name="key")),
                    ("actor", models.CharField(max_length=100)),
                    ("saved_at", models.DateTimeField()),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "content",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="content",
                        ),
                    ),
                    (
                        "theme",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="asset_versions",
                            to="content.theme",
                            verbose_name="theme",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "asset version",
                    "verbose_name_plural": "asset versions",
                    "indexes": [models.Index(fields=["theme", "key", "-id"], name="content_assetversion_by_asset")],
                },
            ),
            migrations.CreateModel(
                name="Asset",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("key", models.CharField(max_length=255, verbose_name="key")),
                    ("actor", models.CharField(default="system", editable=False, max_length=100)),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "content",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="content.filecontent",
                            verbose_name="content",
                        ),
                    ),
                    (
                        "theme",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="assets",
                            to="content.theme",
                            verbose_name="theme",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "asset",
                    "verbose_name_plural": "assets",
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("theme", "key"),
                            name="content_asset_key_once_per_theme",
                            violation_error_code="asset",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ArticleVersion",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("title", models.CharField(max_length=255, verbose_name="title")),
                    ("body_html", models.TextField(blank=True, verbose_name="body html")),
                    ("summary_html", models.TextField(blank=True, null=True, verbose_name="summary html")),
                    ("actor", models.CharField(max_length=100)),
                    ("replaced_at", models.DateTimeField()),
                    (
                        "article",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="text_versions",
                            to="content.article",
                            verbose_name="article",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "article version",
                    "verbose_name_plural": "article versions",
                    "indexes": [models.Index(fields=["article", "-id"], name="content_articleversion_newest")],
                },
            ),
        ),
    ]
