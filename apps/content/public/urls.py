"""The public routes of content, outside of the interface."""

from django.urls import path

from apps.content.public import views

urlpatterns = [
    path("storefront/<str:domain>/scripts.js", views.script_loader, name="script-loader"),
    path("storefront/<str:domain>/scripts/<int:tag_id>.js", views.script, name="script"),
    path("storefront/<str:domain>/themes/<int:theme_id>/assets/<path:key>", views.asset, name="asset"),
    path("storefront/<str:domain>/articles/<int:article_id>/<str:name>", views.article_image, name="article-image"),
    path("storefront/<str:domain>/files/<str:name>", views.store_file, name="store-file"),
    path(".well-known/apple-app-site-association", views.apple_app_site_association),
    path(".well-known/assetlinks.json", views.asset_links),
]
