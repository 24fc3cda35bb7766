from django.urls import path

from apps.orders.public.views import order_status

urlpatterns = [path("orders/<int:shop_id>/<str:token>", order_status, name="order-status")]
