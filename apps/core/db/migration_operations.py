"""Migration operations for columns, indexes, page fill factors and statistics that do not block a table in use."""

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, NotInTransactionMixin, TrigramExtension
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddField, AddIndex, CreateModel
from django.db.migrations.operations.base import Operation


class CreateModels(Operation):
    """Creates several models in one operation.

    After each operation, Django builds all related models again. Nearly all models are related, through the shop, so
    separate operations for each table, index and constraint would take 20 seconds in an empty database.
    """

    def __init__(self, *models: CreateModel) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: Any) -> None:
        state.__dict__.pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create the models {', '.join(model.name for model in self.models)}"


class AddColumn(AddField):
    """Adds a field with a database default without copying the table.

    On SQLite, Django would copy all rows to a new table, although SQLite can add such a column without a copy.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        BaseDatabaseSchemaEditor.add_field(schema_editor, model, model._meta.get_field(self.name))


class OnlyOnSqlite(Operation):
    """Applies operations to the database only on SQLite, if their result is equivalent on PostgreSQL."""

    def __init__(self, *operations: Operation) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: Any) -> None:
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "sqlite":
            return
        for operation in self.operations:
            after = from_state.clone()
            operation.state_forwards(app_label, after)
            operation.database_forwards(app_label, schema_editor, from_state, after)
            from_state = after

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Keep the database, because the results are equivalent."""


class AddIndexWithoutBlocking(AddIndexConcurrently):
    """Adds an index without blocking writers. The migration must set ``atomic = False``.

    PostgreSQL builds the index concurrently. An invalid index from a failed attempt is dropped first. On SQLite,
    Django's usual operation creates the index, because only one connection can write at a time anyway.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
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
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class DropShopIndexes(NotInTransactionMixin, Operation):
    """Drops the indexes on the column ``shop_id`` alone, without blocking. The migration must set ``atomic = False``.

    The name of such an index is looked up, because Django generates it. On SQLite, ``AlterField`` would copy the table.
    """

    def __init__(self, *models: str) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: Any) -> None:
        for model in self.models:
            fields = state.models[app_label, model].fields
            fields["shop"] = fields["shop"].clone()
            fields["shop"].db_index = False
            # Building all related models again, as for AlterField, would take 0.15 s per migration.
            if "apps" in state.__dict__:
                state.apps.get_model(app_label, model)._meta.get_field("shop").db_index = False

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        command = f"DROP INDEX{_concurrently(schema_editor)} IF EXISTS"
        for model in self._get_models(app_label, schema_editor, to_state):
            column = model._meta.get_field("shop").column
            own = {index.name for index in model._meta.indexes}
            for name in schema_editor._constraint_names(
                model, [column], index=True, unique=False, primary_key=False, exclude=own
            ):
                schema_editor.execute(f"{command} {schema_editor.quote_name(name)}")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        for model in self._get_models(app_label, schema_editor, to_state):
            column = model._meta.get_field("shop").column
            name = schema_editor.quote_name(schema_editor._create_index_name(model._meta.db_table, [column]))
            table = schema_editor.quote_name(model._meta.db_table)
            schema_editor.execute(f"DROP INDEX{_concurrently(schema_editor)} IF EXISTS {name}")
            schema_editor.execute(f"CREATE INDEX{_concurrently(schema_editor)} {name} ON {table} ({column})")

    def _get_models(self, app_label: str, schema_editor: Any, state: Any) -> Iterator[Any]:
        for name in self.models:
            model = state.apps.get_model(app_label, name)
            if self.allow_migrate_model(schema_editor.connection.alias, model):
                yield model

    def describe(self) -> str:
        return f"Drop the indexes on the shop alone of {', '.join(self.models)}"


def _concurrently(schema_editor: Any) -> str:
    return " CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""


class _PostgresOperation(Operation):
    """An operation that runs SQL on a model's table, only on PostgreSQL, and does not change the model's state."""

    model_name: str

    def get_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        raise NotImplementedError

    def get_reverse_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        raise NotImplementedError

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the model state unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.get_statements, app_label, schema_editor, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.get_reverse_statements, app_label, schema_editor, to_state)

    def _run(self, get: Callable[[Any, str], tuple[str, ...]], app_label: str, schema_editor: Any, state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            table = state.apps.get_model(app_label, self.model_name)._meta.db_table
            for statement in get(schema_editor, schema_editor.quote_name(table)):
                schema_editor.execute(statement, params=None)


class AddPostgresIndex(_PostgresOperation):
    """Adds an index that only PostgreSQL supports (for substring or prefix searches), without blocking writers.

    The migration must set ``atomic = False``, unless it also creates the table. The index is not part of the model,
    because SQLite does not support this type of index. SQLite scans the rows of the shop instead. ``definition`` is the
    SQL after the table's name, e.g. ``USING gin (upper(title) gin_trgm_ops)``.
    """

    def __init__(self, model_name: str, name: str, definition: str) -> None:
        self.model_name, self.name, self.definition = model_name, name, definition

    def get_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        """Drop an invalid index from a failed attempt, then build the index."""
        command = "CREATE INDEX" if schema_editor.atomic_migration else "CREATE INDEX CONCURRENTLY"
        create = f"{command} {schema_editor.quote_name(self.name)} ON {table} {self.definition}"
        return (*self.get_reverse_statements(schema_editor, table), create)

    def get_reverse_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        command = "DROP INDEX" if schema_editor.atomic_migration else "DROP INDEX CONCURRENTLY"
        return (f"{command} IF EXISTS {schema_editor.quote_name(self.name)}",)

    def describe(self) -> str:
        return f"Create the index {self.name} on {self.model_name}, on PostgreSQL"


class SetFillFactor(_PostgresOperation):
    """Sets PostgreSQL's fill factor, which reserves space for updated rows in each page of a table.

    With this space, an update that changes no indexed column stores the new row version in the same page and does not
    write to any index. The setting only affects pages written later. Changing the setting does not block.
    """

    def __init__(self, model_name: str, percent: int) -> None:
        self.model_name, self.percent = model_name, percent

    def get_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        return (f"ALTER TABLE {table} SET (fillfactor = {self.percent})",)

    def get_reverse_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        return (f"ALTER TABLE {table} RESET (fillfactor)",)

    def describe(self) -> str:
        return f"Set the fill factor of {self.model_name}, on PostgreSQL"


class AddExpressionStatistics(_PostgresOperation):
    """Creates PostgreSQL statistics for the values of an SQL expression, and collects them without blocking.

    PostgreSQL collects statistics for expressions in full indexes, but not for expressions in partial indexes. Without
    statistics, the planner assumes that each value matches one of 200 rows.
    """

    def __init__(self, model_name: str, name: str, expression: str) -> None:
        self.model_name, self.name, self.expression = model_name, name, expression

    def get_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        name = schema_editor.quote_name(self.name)
        return (f"CREATE STATISTICS {name} ON ({self.expression}) FROM {table}", f"ANALYZE {table}")

    def get_reverse_statements(self, schema_editor: Any, table: str) -> tuple[str, ...]:
        return (f"DROP STATISTICS {schema_editor.quote_name(self.name)}",)

    def describe(self) -> str:
        return f"Create statistics for {self.expression} of {self.model_name}, on PostgreSQL"


class EnsureTrigramExtension(TrigramExtension):
    """Creates PostgreSQL's trigram extension if it does not exist.

    Several apps need the extension, so reversing the migration of one app does not drop it.
    """

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the extension in the database."""
