"""Moves a shop: exports it into an archive, and imports the archive into another installation with the same IDs.

The archive is a directory. ``archive.json`` is written first and identifies the shop. ``tables/<table>.jsonl.gz``
contains the rows: each line is a JSON array of values, in the order of ``columns`` in the manifest. ``files/<name>``
contains the files of the shop, and ``files.jsonl.gz`` lists their names, sizes and SHA-256 digests. ``manifest.json``
is written last. It lists migrations, columns, row counts and ID ranges, and the digest of each part. Without a manifest
the archive is unfinished. Values do not depend on the database: PostgreSQL can read what SQLite wrote, and vice versa.

The archive has every row of every ``ShopOwned`` table and of the tables in ``schema.ADDITIONAL_TABLES``, including
token digests, installations, subscriptions, the audit log and pending jobs. Tables without a shop are listed in
``schema.EXCLUDED_TABLES`` with the reason; a test compares both lists with the models. The rows refer to people, apps
and configuration-file subscriptions, which do not belong to the shop. The archive contains the data that identifies
them in the other installation (``identities``).

Invariants:

* Consistency. All rows are read in one snapshot (repeatable read on PostgreSQL, a read transaction on SQLite), which
  does not block writers. File names are never reused. Files are copied before the snapshot, and new files again after
  it, so that no row lacks its file. Memory use is constant, because rows and files are streamed.
* The last export before the move (``final``) makes the shop read-only before the snapshot, and waits until running jobs
  and deliveries have finished.
* A killed export resumes: existing files are not copied again. Rows are always read again, because a snapshot ends with
  its connection.
* A killed import resumes: existing files are kept. Rows are written in one transaction, compared with the archive value
  by value, and then committed, so a shop is imported completely and verified, or not at all.
* IDs do not change. An import is refused before anything is written if the shop or its domain exists, an ID or another
  unique value is taken, the schema differs, secrets cannot be decrypted with this installation's keys (secrets stay
  encrypted in the archive; ``BACKOFFICE_SECRET_KEY_FALLBACKS`` must contain the key of the source installation), or an
  app lacks subscriptions of its configuration file.
* People are identified by email address and apps by API key. Existing people and apps are used unchanged. Missing ones
  are created, with the same ID if it is free, and columns that refer to them are updated. Passwords and second factors
  are not moved, and imported people never become operators: they set a password through "Forgot your password?".
* ID sequences are advanced past the imported IDs.
"""
