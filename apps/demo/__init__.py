"""The demo: data of the demo shop, a demo warehouse, and a receiver for test webhooks.

* ``data`` creates the demo shop's products, customers, orders and other objects (``manage.py demo``).
* ``warehouse`` simulates an app that runs a fulfillment service (``manage.py demo_warehouse``).
* ``webhook_receiver`` receives webhooks and can simulate failures (``manage.py webhook_receiver``).

No other app imports this app.
"""
