"""Moving one shop: out of an installation into an archive, and into another installation, with all ids.

The archive is a folder. ``archive.json`` says from the beginning of what it is; ``tables/<table>.jsonl.gz`` holds the
rows, a JSON array of values per line in the order of ``columns``; ``files/<name>`` the files of its storage;
``files.jsonl.gz`` their names, sizes and SHA-256; ``manifest.json`` comes last: migrations, columns, numbers and ranges
of rows, digest of each part. Without it an archive is unfinished. Values are neutral to databases: what SQLite wrote,
PostgreSQL reads, and the other way round.

What is in it: every row of every ``ShopOwned`` table and of those in ``tables.ALSO``, so tokens' digests,
installations, subscriptions, the audit trail and work that waits. Tables that no shop owns are named in
``tables.LEFT_OUT``, each with its reason; a test holds both to the models. Of the people and apps that the rows name,
and of subscriptions out of apps' configuration files, it holds what is needed to know them again (``callers``).

Invariants:

* One moment. All rows are read in one snapshot (repeatable read on PostgreSQL, a read transaction on SQLite), which
  keeps no writer waiting. Files have names that are used once: they are copied before, and those that came meanwhile
  after it, so no row lacks its file. Memory stays flat: rows and files are streamed.
* The last export of a shop in use (``final``) makes it read-only before that moment, and waits for what was begun.
* Export goes on where it was killed: a file that is there already is not copied again. Rows are read anew, as a
  snapshot ends with its connection.
* Import goes on where it was killed: files that lie there already are kept. Rows are written in one transaction,
  compared with the archive value by value, and only then committed: the shop is there whole and proven, or not at all.
* Ids stay. Refused before anything is written, with a list: the shop or its domain is there already, an id or another
  value that is unique in the installation is taken, the schema is another, the secrets cannot be opened with this
  installation's keys (secrets stay encrypted in the archive; ``BACKOFFICE_SECRET_KEY_FALLBACKS`` must name the key of
  the installation that it comes from), or an app there lacks subscriptions of its configuration file.
* People are known by their e-mail address and apps by their key. One that is there is used as it is; another is made,
  under its id where that is free; columns that name people or apps follow. Nobody's password or second factor moves,
  and nobody becomes an operator: new people choose a password by "Forgot your password?".
* Sequences move past the ids that came.
"""
