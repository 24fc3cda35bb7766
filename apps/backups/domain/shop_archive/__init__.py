"""Move one shop: export it into an archive, and import the archive into another installation with all IDs.

The archive is a directory. ``archive.json`` is written first and identifies the shop. ``tables/<table>.jsonl.gz`` has
the rows: a JSON array of values per line, in the order of ``columns``. ``files/<name>`` has the files of the shop, and
``files.jsonl.gz`` their names, sizes and SHA-256 digests. ``manifest.json`` is written last: migrations, columns, row
counts and ID ranges, and the digest of each part. Without a manifest the archive is unfinished. Values do not depend on
the database: PostgreSQL can read what SQLite wrote, and vice versa.

The archive has every row of every ``ShopOwned`` table and of the tables in ``schema.ADDITIONAL_TABLES``, including
token digests, installations, subscriptions, the audit log and pending jobs. Tables without a shop are listed in
``schema.EXCLUDED_TABLES`` with the reason; a test compares both lists with the models. For people and apps that
the rows refer to, and for subscriptions of apps' configuration files, the archive has the data needed to identify
them (``identities``).

Invariants:

* Consistency. All rows are read in one snapshot (repeatable read on PostgreSQL, a read transaction on SQLite), which
  does not block writers. File names are never reused: files are copied before the snapshot, and new ones after it, so
  no row lacks its file. Memory use is constant, because rows and files are streamed.
* The last export of a shop (``final``) makes the shop read-only before the snapshot, and waits for running jobs and
  deliveries.
* A killed export resumes: existing files are not copied again. Rows are always read again, because a snapshot ends with
  its connection.
* A killed import resumes: existing files are kept. Rows are written in one transaction, compared with the archive value
  by value, and then committed, so a shop is imported completely and verified, or not at all.
* IDs do not change. An import is refused with a list of reasons before anything is written: the shop or its domain
  exists, an ID or another unique value is taken, the schema differs, secrets cannot be decrypted with this
  installation's keys (secrets stay encrypted in the archive; ``BACKOFFICE_SECRET_KEY_FALLBACKS`` must contain the key
  of the source installation), or an app lacks subscriptions of its configuration file.
* People are identified by email address and apps by API key. Existing ones are used unchanged. Missing ones are
  created, with the same ID if that is free, and columns that refer to people or apps are updated. Passwords and second
  factors are not moved, and imported people never become operators: they set a password through "Forgot
  your password?".
* ID sequences are advanced past the imported IDs.
"""
