"""Avoid re-rendering every model on each migration operation.

For every migration operation, Django renders the class of the changed model again, and the classes of all directly or
indirectly related models. Nearly all models are related through the shop, so rendering takes 97% of the time of
``migrate``. This module renders fewer classes:

- If only indexes, constraints or verbose names change, no class is rendered. The existing class is updated.
- If a model is new, only its own class is rendered, because no other model can refer to it yet.
- If a class changes, only this class is rendered, and the classes that refer to it (by a relation or as a base class,
  directly or indirectly).

All other behavior is Django's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from django.db.migrations.state import ModelState, ProjectState
from django.db.models import Field
from django.db.models.utils import make_model_tuple

# Options that have no effect on the database or on queries in migrations.
_DISPLAY_MODEL_OPTIONS = frozenset({"verbose_name", "verbose_name_plural", "permissions", "default_permissions"})
_DISPLAY_FIELD_OPTIONS = frozenset({"verbose_name", "help_text", "error_messages", "choices", "validators", "editable"})
_INDEX_METHODS = ("_append_option", "_remove_option", "_alter_option")

_Key: TypeAlias = tuple[str, str]  # The label of an app and the lowercase name of one of its models.

_add_model = ProjectState.add_model
_alter_model_options = ProjectState.alter_model_options
_alter_field = ProjectState.alter_field


@contextmanager
def fast_migration_states() -> Iterator[None]:
    """Render only the necessary models during migrations."""
    replacements: dict[str, Callable[..., Any]] = {
        **{name: _update_existing_class(getattr(ProjectState, name)) for name in _INDEX_METHODS},
        "add_model": _add_new_model,
        "_find_reload_model": _find_referring_models,
        "alter_model_options": _alter_options,
        "alter_field": _alter_field_sparingly,
    }
    originals = {name: getattr(ProjectState, name) for name in replacements}
    _set_methods(replacements)
    try:
        yield
    finally:
        _set_methods(originals)


def _set_methods(methods: dict[str, Callable[..., Any]]) -> None:
    for name, method in methods.items():
        setattr(ProjectState, name, method)


def _add_new_model(state: ProjectState, model: ModelState) -> None:
    with _without_rendering(state):
        _add_model(state, model)
    if "apps" in vars(state):
        state.apps.render_multiple([model])


def _find_referring_models(state: ProjectState, app_label: str, model_name: str, delay: bool = False) -> set[_Key]:
    """Return the model and all models that refer to it directly or indirectly. ``delay`` is ignored."""
    affected: set[_Key] = set()
    pending = [(app_label, model_name)]
    # Compute the relations of a copy. Otherwise, Django would move an altered field to the end of the table's columns.
    relations = ProjectState(state.models, state.real_apps).relations
    children = defaultdict[_Key, list[_Key]](list)
    for key, model in state.models.items():
        for base in model.bases:
            if isinstance(base, str):  # Abstract bases are classes, not strings.
                children[make_model_tuple(base)].append(key)
    while pending:
        key = pending.pop()
        if key not in affected:
            affected.add(key)
            pending += [*relations.get(key, ()), *children[key]]
    return affected


def _update_existing_class(change: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method that changes a model's indexes or constraints, so that it updates the existing class."""

    def wrapper(state: ProjectState, app_label: str, model_name: str, option: str, *arguments: Any) -> None:
        with _without_rendering(state):
            change(state, app_label, model_name, option, *arguments)
        if "apps" in vars(state):
            options = state.models[app_label, model_name].options
            setattr(state.apps.get_model(app_label, model_name)._meta, option, list(options[option]))

    return wrapper


def _alter_options(
    state: ProjectState, app_label: str, model_name: str, options: dict[str, Any], keys: Any = None
) -> None:
    current = state.models[app_label, model_name].options
    changed = {key for key in {*options, *(keys or ())} if options.get(key) != current.get(key)}
    with _without_rendering(state) if changed <= _DISPLAY_MODEL_OPTIONS else nullcontext():
        _alter_model_options(state, app_label, model_name, options, keys)


def _alter_field_sparingly(state: ProjectState, app_label: str, model_name: str, name: str, *altered: Any) -> None:
    field, preserve_default = altered
    is_display_change = preserve_default and _essential_definition(
        state.models[app_label, model_name].fields[name]
    ) == _essential_definition(field)
    with _without_rendering(state) if is_display_change else nullcontext():
        _alter_field(state, app_label, model_name, name, field, preserve_default)


def _essential_definition(field: "Field[Any, Any]") -> tuple[Any, ...]:
    """Return a field's definition without options that only affect display."""
    _, path, arguments, options = field.deconstruct()
    return path, arguments, {key: value for key, value in options.items() if key not in _DISPLAY_FIELD_OPTIONS}


@contextmanager
def _without_rendering(state: ProjectState) -> Iterator[None]:
    """Prevent the rendering of classes during the block, by removing the rendered classes from the state."""
    classes = vars(state).pop("apps", None)
    try:
        yield
    finally:
        if classes is not None:
            vars(state)["apps"] = classes
