"""Indexes for tables that are in use."""

from collections.abc import Iterator
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations import AddIndex, AlterField
from django.db.migrations.operations.base import Operation


class AddIndexBeside(AddIndexConcurrently):
    """Adds an index while others write; its migration says ``atomic = False``.

    On PostgreSQL it is built concurrently, and what an attempt that broke off left behind is dropped first. SQLite has
    one writer anyway.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Build it."""
        if schema_editor.connection.vendor != "postgresql":
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)
            return
        if self.allow_migrate_model(
            schema_editor.connection.alias, to_state.apps.get_model(app_label, self.model_name)
        ):
            self._ensure_not_in_transaction(schema_editor)
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it."""
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddPartsIndexBeside(Operation):
    """Adds an index that only PostgreSQL has (of parts of texts, or of their beginnings), while others write.

    Its migration says ``atomic = False``. It is none of the model's, for SQLite cannot make it: there the rows of the
    shop are read.

    Args:
        model_name: The model's.
        name: The index's.
        definition: What stands behind the table's name, e.g. ``USING gin (upper(title) gin_trgm_ops)``.
    """

    reduces_to_sql = True
    reversible = True
    atomic = False

    def __init__(self, model_name: str, name: str, definition: str) -> None:
        """See the class."""
        self.model_name, self.name, self.definition = model_name, name, definition

    def state_forwards(self, app_label: str, state: Any) -> None:
        """The model does not know of it."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Build it, after dropping what an attempt that broke off left behind."""
        self._build(schema_editor, app_label, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it."""
        self._drop(schema_editor)

    def _build(self, schema_editor: Any, app_label: str, state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._drop(schema_editor)
            table = state.apps.get_model(app_label, self.model_name)._meta.db_table
            name, table = schema_editor.quote_name(self.name), schema_editor.quote_name(table)
            schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {table} {self.definition}", params=None)

    def _drop(self, schema_editor: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            name = schema_editor.quote_name(self.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", params=None)

    def describe(self) -> str:
        """For people."""
        return f"Create the index {self.name} on {self.model_name}, on PostgreSQL"


class DropPartsIndexBeside(AddPartsIndexBeside):
    """Drops such an index, also with readers and writers beside; ``definition`` is what it was."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it."""
        self._drop(schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Build it again."""
        self._build(schema_editor, app_label, to_state)

    def describe(self) -> str:
        """For people."""
        return f"Drop the index {self.name} of {self.model_name}, on PostgreSQL"


class DropKeyIndex(AlterField):
    """Takes the index of a foreign key away, which another one begins with; the rest of the column stays as it is.

    Django would write the whole table anew on SQLite, and lose its triggers.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it."""
        model = to_state.apps.get_model(app_label, self.model_name)
        for name in list(self._names(schema_editor, model)):
            schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make it again; writers wait meanwhile."""
        model = to_state.apps.get_model(app_label, self.model_name)
        schema_editor.execute(schema_editor._create_index_sql(model, fields=[model._meta.get_field(self.name)]))

    def _names(self, schema_editor: Any, model: Any) -> Iterator[str]:
        connection, column = schema_editor.connection, model._meta.get_field(self.name).column
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        for name, each in found.items():
            if each["index"] and each["columns"] == [column] and not (each["unique"] or each["primary_key"]):
                yield name


class LeaveRoom(Operation):
    """Lets PostgreSQL leave room in the pages of a table, so that a row that changes may stay in its page.

    A change that no index knows of is then written without touching any. It holds for pages that are written from now
    on, and nobody waits for it.

    Args:
        model_name: The model's.
        percent: How full a page is made.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str, percent: int) -> None:
        """See the class."""
        self.model_name, self.percent = model_name, percent

    def state_forwards(self, app_label: str, state: Any) -> None:
        """The model does not know of it."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Set it."""
        self._set(app_label, schema_editor, to_state, f"SET (fillfactor = {self.percent})")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Back to full pages."""
        self._set(app_label, schema_editor, to_state, "RESET (fillfactor)")

    def _set(self, app_label: str, schema_editor: Any, state: Any, clause: str) -> None:
        if schema_editor.connection.vendor == "postgresql":
            table = state.apps.get_model(app_label, self.model_name)._meta.db_table
            schema_editor.execute(f"ALTER TABLE {schema_editor.quote_name(table)} {clause}", params=None)

    def describe(self) -> str:
        """For people."""
        return f"Leave room in the pages of {self.model_name}, on PostgreSQL"


class CountExpression(Operation):
    """Lets PostgreSQL count how often each value of an expression comes, as it does for columns.

    It does so for the expressions of indexes, and leaves out those of indexes over some of the rows: of these it
    believes that any value is that of one row in 200.

    Args:
        model_name: The model's.
        name: The statistics' name.
        expression: Over columns of the model, e.g. ``upper(title)``.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str, name: str, expression: str) -> None:
        """See the class."""
        self.model_name, self.name, self.expression = model_name, name, expression

    def state_forwards(self, app_label: str, state: Any) -> None:
        """The model does not know of it."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Count from now on, and once now: a sample is read, and nobody waits."""
        if schema_editor.connection.vendor == "postgresql":
            table = schema_editor.quote_name(to_state.apps.get_model(app_label, self.model_name)._meta.db_table)
            name = schema_editor.quote_name(self.name)
            schema_editor.execute(f"CREATE STATISTICS {name} ON ({self.expression}) FROM {table}", params=None)
            schema_editor.execute(f"ANALYZE {table}", params=None)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Count it no longer."""
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP STATISTICS {schema_editor.quote_name(self.name)}", params=None)

    def describe(self) -> str:
        """For people."""
        return f"Count the values of {self.expression} of {self.model_name}, on PostgreSQL"
