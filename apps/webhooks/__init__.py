"""Webhooks: subscriptions of apps to events, and the engine that delivers each event at least once.

**Data.** A ``Subscription`` maps a topic to a URI, with an API version, a filter and a selection of fields. An app
creates it for one shop (origin ``api``), or the app's configuration file creates it for every shop that has the app
(origin ``config``, no shop). ``Pending`` is the outbox: it marks an event that has subscribers and is written in the
transaction of the event. Fan-out turns a pending event into one ``Delivery`` per matching subscription. The ``Payload``
of the delivery holds the frozen bytes; its ``Endpoint`` is the URI in one shop. Each finished HTTP call is an
``Attempt``. A ``Host`` stores the circuit breaker of a server, and ``Health`` summarizes recent deliveries of a
subscription.

**Invariants.**

* Each committed event reaches each live, matching subscription at least once; events that were rolled back reach no
  subscription. A duplicate has the same ``X-…-Webhook-Id`` and the same bytes.
* There is one delivery per event and subscription (a unique constraint), so fan-out may be repeated.
* A process leases each delivery before it sends it, timed by the database's clock. A result is written only if the
  delivery still has the lease token; a late result is counted and changes nothing.
* No transaction is open while a request is in progress.
* A failing subscription is disabled with a reason, and its deliveries are held for replay. Only with
  ``WEBHOOK_DELETE_FAILING`` is it deleted.

**Flow.** ``record_event`` asks ``domain.audience`` for subscribers (without a query if the shop has none) and writes
the event to the outbox → ``engine.create_deliveries`` creates deliveries → the dispatcher claims deliveries that can
start at once, sends them, and writes their results in batches.
"""
