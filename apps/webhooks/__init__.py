"""Webhooks: who wants to be told what, and telling it without losing anything.

**Data.** A ``Subscription`` says which topic goes to which URI, in which API version, under which filter and with
which fields. An app makes it for one shop (origin ``api``), or its configuration file makes it for every shop that has
the app (origin ``config``, no shop). ``Pending`` marks an event that somebody wants; it is written in the transaction
of the event. Fan-out turns it into one ``Delivery`` for each subscription that it fits, with the ``Payload`` whose
bytes are frozen there, bound for an ``Endpoint``: the URI in one shop. Each HTTP call that concluded is an
``Attempt``. A ``Host`` keeps the breaker of a server, and ``Health`` what became of a subscription's deliveries lately.

**Invariants.**

* Each committed event reaches each live subscription that it fits at least once; events that were rolled back reach
  nobody. A duplicate has the same ``X-…-Webhook-Id`` and the same bytes.
* One delivery for each event and subscription (a unique constraint), so fan-out may be repeated.
* Whoever sends a delivery holds its lease, counted by the database's clock. A result is written only under the token
  of the lease; one that comes late is counted, and changes nothing.
* No transaction is open while a request is under way.
* A subscription is never lost by failing: it is disabled, with a reason, and its deliveries are held for recovery.

**Flow.** ``record_event`` asks ``domain.listening`` who listens (no query where nobody does) and notes the event as
pending → ``domain.fan_out`` → ``dispatch`` claims what can start at once, sends, and writes results in groups.
"""
