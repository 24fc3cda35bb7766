"""Migrations without making all models anew for each change of one.

Django keeps classes of the models as a migration sees them. Whatever a migration changes, it makes the model's class
anew, and those of all models that are related to it, which through the shop are nearly all: 97 % of the time that
``migrate`` took went there. But

- where only indexes, constraints, or words for people change, no other class can tell, so the class at hand is told of
  it, or nothing is done;
- nothing refers to a model that is new, so only its own class is made;
- of a class that is made anew only those can tell that refer to it, by a relation or as their base, and those that
  refer to these. A class that it refers to itself learns of the new one as of any other that is made.

All else is as Django does it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from django.db.migrations.state import ModelState, ProjectState
from django.db.models import Field
from django.db.models.utils import make_model_tuple

# What neither the database nor a query of a migration goes by.
_WORDS_OF_A_MODEL = frozenset({"verbose_name", "verbose_name_plural", "permissions", "default_permissions"})
_WORDS_OF_A_FIELD = frozenset({"verbose_name", "help_text", "error_messages", "choices", "validators", "editable"})
_OF_INDEXES_AND_CONSTRAINTS = ("_append_option", "_remove_option", "_alter_option")

_Key: TypeAlias = tuple[str, str]  # The label of an app and the lower-case name of a model in it.

_add_model = ProjectState.add_model
_alter_model_options = ProjectState.alter_model_options
_alter_field = ProjectState.alter_field


@contextmanager
def sparing() -> Iterator[None]:
    """Within it, migrations make only those models anew that have to be."""
    sparing_ones: dict[str, Callable[..., Any]] = {
        **{name: _telling(getattr(ProjectState, name)) for name in _OF_INDEXES_AND_CONSTRAINTS},
        "add_model": _new_model,
        "_find_reload_model": _referring,
        "alter_model_options": _options,
        "alter_field": _field,
    }
    djangos = {name: getattr(ProjectState, name) for name in sparing_ones}
    _set_methods(sparing_ones)
    try:
        yield
    finally:
        _set_methods(djangos)


def _set_methods(methods: dict[str, Callable[..., Any]]) -> None:
    for name, method in methods.items():
        setattr(ProjectState, name, method)


def _new_model(state: ProjectState, model: ModelState) -> None:
    with _classes_left_alone(state):
        _add_model(state, model)
    if "apps" in vars(state):
        state.apps.render_multiple([model])


def _referring(state: ProjectState, app_label: str, model_name: str, delay: bool = False) -> set[_Key]:
    """The model and all that refer to it, directly or through others: none is left for later, as Django would."""
    found: set[_Key] = set()
    wanted = [(app_label, model_name)]
    # Another state is asked: one that knows its relations puts an altered field, and with it its column, behind all.
    relations = ProjectState(state.models, state.real_apps).relations
    children = defaultdict[_Key, list[_Key]](list)
    for key, model in state.models.items():
        for base in model.bases:
            if isinstance(base, str):  # A class otherwise, which is abstract.
                children[make_model_tuple(base)].append(key)
    while wanted:
        key = wanted.pop()
        if key not in found:
            found.add(key)
            wanted += [*relations.get(key, ()), *children[key]]
    return found


def _telling(change: Callable[..., None]) -> Callable[..., None]:
    """The same change of a model's indexes or constraints, of which the class at hand is told."""

    def told(state: ProjectState, app_label: str, model_name: str, option: str, *change_of_it: Any) -> None:
        with _classes_left_alone(state):
            change(state, app_label, model_name, option, *change_of_it)
        if "apps" in vars(state):
            options = state.models[app_label, model_name].options
            setattr(state.apps.get_model(app_label, model_name)._meta, option, list(options[option]))

    return told


def _options(state: ProjectState, app_label: str, model_name: str, options: dict[str, Any], keys: Any = None) -> None:
    held = state.models[app_label, model_name].options
    changed = {key for key in {*options, *(keys or ())} if options.get(key) != held.get(key)}
    with _classes_left_alone(state) if changed <= _WORDS_OF_A_MODEL else nullcontext():
        _alter_model_options(state, app_label, model_name, options, keys)


def _field(state: ProjectState, app_label: str, model_name: str, name: str, *altered: Any) -> None:
    field, preserve_default = altered
    same = preserve_default and _told(state.models[app_label, model_name].fields[name]) == _told(field)
    with _classes_left_alone(state) if same else nullcontext():
        _alter_field(state, app_label, model_name, name, field, preserve_default)


def _told(field: "Field[Any, Any]") -> tuple[Any, ...]:
    """What a field is, without its words."""
    _name, path, arguments, options = field.deconstruct()
    return path, arguments, {key: value for key, value in options.items() if key not in _WORDS_OF_A_FIELD}


@contextmanager
def _classes_left_alone(state: ProjectState) -> Iterator[None]:
    """Within it, no class is made anew: a state makes those only that it has."""
    classes = vars(state).pop("apps", None)
    try:
        yield
    finally:
        if classes is not None:
            vars(state)["apps"] = classes
