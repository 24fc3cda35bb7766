from django.urls import path

from apps.content.storefront import views

urlpatterns = [
    path("storefront/<str:domain>/scripts.js", views.serve_script_loader, name="script-loader"),
    path("storefront/<str:domain>/scripts/<int:tag_id>.js", views.serve_script, name="script"),
    path("storefront/<str:domain>/themes/<int:theme_id>/assets/<path:key>", views.serve_asset, name="asset"),
    path(
        "storefront/<str:domain>/articles/<int:article_id>/<str:name>", views.serve_article_image, name="article-image"
    ),
    path("storefront/<str:domain>/files/<str:name>", views.serve_store_file, name="store-file"),
    path(".well-known/apple-app-site-association", views.serve_apple_app_site_association),
    path(".well-known/assetlinks.json", views.serve_asset_links),
]
