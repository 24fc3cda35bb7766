"""The public routes of content, outside of the interface."""

from django.urls import path

from apps.content import storefront

urlpatterns = [
    path("storefront/<str:domain>/scripts.js", storefront.script_loader, name="script-loader"),
    path("storefront/<str:domain>/scripts/<int:tag_id>.js", storefront.script, name="script"),
    path("storefront/<str:domain>/themes/<int:theme_id>/assets/<path:key>", storefront.asset, name="asset"),
    path(
        "storefront/<str:domain>/articles/<int:article_id>/<str:name>", storefront.article_image, name="article-image"
    ),
    path(".well-known/apple-app-site-association", storefront.apple_app_site_association),
    path(".well-known/assetlinks.json", storefront.asset_links),
]
