"""Moves a shop to another installation: exports the shop into an archive, and imports the archive with the same IDs.

The archive is a directory. ``archive.json`` is written first and identifies the shop. ``tables/<table>.jsonl.gz``
contains the rows: each line is a JSON array of values, in the order of ``columns`` in the manifest. ``files/<name>``
contains the files of the shop, and ``files.jsonl.gz`` lists their names, sizes and SHA-256 digests. ``manifest.json``
is written last. It lists migrations, columns, row counts and ID ranges, and the digest of each part. Without a manifest
the archive is unfinished. Values do not depend on the database: PostgreSQL can read what SQLite wrote, and vice versa.

The archive has every row of every ``ShopOwned`` table and of the tables in ``schema.ADDITIONAL_TABLES``, including
token digests, installations, subscriptions, the audit log and pending jobs. Tables without a shop are listed in
``schema.EXCLUDED_TABLES`` with the reason. A test compares both lists with the models. Some rows refer to people, apps
or configuration-file subscriptions, which are shared by all shops. The archive contains the data that identifies these
people, apps and subscriptions in the other installation (see ``identities``).

Invariants:

* Consistency. All rows are read in one snapshot (repeatable read on PostgreSQL, a read transaction on SQLite), which
  does not block writers. File names are never reused. Files are copied before the snapshot, and new files are copied
  after the snapshot, so that no row lacks its file. Memory use is constant, because rows and files are streamed.
* The last export before the move (``final``) makes the shop read-only before the snapshot, and waits until running jobs
  and deliveries have finished.
* A killed export can be resumed. Files that are already in the archive are not copied again. Rows are always read
  again, because a snapshot ends when its connection closes.
* A killed import can be resumed. Files that are already in the storage are not copied again. Rows are written in one
  transaction, compared with the archive value by value, and then committed. A shop is therefore either imported
  completely and verified, or not imported at all.
* IDs do not change. An import is refused before anything is written if the shop or its domain already exists, an ID or
  another unique value is already used, the schema differs, secrets cannot be decrypted, or an app lacks subscriptions
  of its configuration file. Secrets are encrypted in the archive, so ``BACKOFFICE_SECRET_KEY_FALLBACKS`` must contain
  the key of the source installation.
* People are identified by email address and apps by API key. Existing people and apps are used unchanged. Missing
  people and apps are created, with the archived ID if that ID is free. Otherwise they get a new ID, and the columns
  that refer to the old ID are updated. Passwords and second factors are not moved. Imported people set a password
  through "Forgot your password?", and never become operators.
* ID sequences are advanced past the imported IDs.
"""
