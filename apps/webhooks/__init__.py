"""Webhooks: subscriptions of apps to events, and the engine that delivers each event at least once.

**Data.** A ``Subscription`` maps a topic to a URI, with an API version, a filter and a field selection. An app
creates a subscription for one shop (origin ``api``). An app's configuration file creates subscriptions for every shop
that has the app (origin ``config``, no shop). ``Pending`` is the outbox. A pending row marks an event that has
subscribers, and is written in the same transaction as the event. Fan-out creates one ``Delivery`` per pending event and
matching subscription. The ``Payload`` of a delivery contains the exact bytes to send, and the ``Endpoint`` is a URI in
one shop. Each finished call is an ``Attempt``. A ``Host`` stores the circuit breaker of a server, and ``Health``
summarizes recent deliveries of a subscription.

**Invariants.**

* Each committed event is delivered at least once to each live, matching subscription. An event that was rolled back is
  never delivered. A duplicate has the same ``X-…-Webhook-Id`` and the same bytes.
* A unique constraint allows one delivery per event and subscription, so repeating a fan-out is safe.
* A process leases each delivery before sending it. Leases use the database clock. A result is written only if the
  delivery still has the lease token. A late result is logged but does not change the delivery.
* No transaction is open during a call to an endpoint.
* A failing subscription is disabled with a reason, and its deliveries are held for replay. With
  ``WEBHOOK_DELETE_FAILING``, the subscription is deleted instead.

**Flow.** ``record_event`` asks ``domain.audience`` for subscribers (without a query if the shop has none) and writes
the event to the outbox → ``engine.create_deliveries`` creates deliveries → the dispatcher claims deliveries that can
start at once, sends them and writes the results in batches.
"""
