from django.urls import path

from apps.draft_orders.public.views import invoice_page

urlpatterns = [path("invoices/<int:shop_id>/<str:token>", invoice_page, name="draft-order-invoice")]
