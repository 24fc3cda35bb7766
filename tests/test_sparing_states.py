"""Migrations that make only those models anew that have to be lead to the same database."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import CASCADE, CharField, CheckConstraint, ForeignKey, Index, Model, Q

from apps.ground.sparing_states import sparing


def described(state: ProjectState) -> dict[tuple[str, str], object]:
    """Every model of a state, by what it is made of."""
    return {
        key: (
            {name: field.deconstruct()[1:] for name, field in model.fields.items()},
            {
                name: sorted(map(repr, value)) if isinstance(value, list) else value
                for name, value in model.options.items()
            },
        )
        for key, model in state.models.items()
    }


@pytest.mark.django_db
def test_models_after_all_migrations_are_the_same() -> None:
    plainly = MigrationExecutor(connection).loader.project_state()

    with sparing():
        spared = MigrationExecutor(connection).loader.project_state()

    assert described(spared) == described(plainly)


@pytest.mark.django_db
def test_database_has_every_index_and_constraint_of_the_models() -> None:
    missing = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            held = connection.introspection.get_constraints(cursor, model._meta.db_table)
            named = [*model._meta.indexes, *model._meta.constraints]
            missing += [each.name for each in named if each.name.lower() not in {name.lower() for name in held}]

    assert missing == []


def a_state() -> ProjectState:
    state = ProjectState()
    state.add_model(
        ModelState(
            "t", "Thing", [("id", CharField(max_length=9, primary_key=True))], {"indexes": [], "constraints": []}
        )
    )
    state.add_model(
        ModelState(
            "t", "Part", [("id", CharField(max_length=9, primary_key=True)), ("thing", ForeignKey("t.Thing", CASCADE))]
        )
    )
    return state


def model_of(state: ProjectState, name: str) -> type[Model]:
    found: type[Model] = state.apps.get_model("t", name)
    return found


def test_class_learns_of_indexes_and_constraints_and_others_stay() -> None:
    state = a_state()
    thing, part = model_of(state, "Thing"), model_of(state, "Part")

    with sparing():
        state.add_index("t", "thing", Index(fields=["id"], name="by_id"))
        state.add_index("t", "thing", Index(fields=["-id"], name="by_id_down"))
        state.remove_index("t", "thing", "by_id")
        state.add_constraint("t", "thing", CheckConstraint(condition=Q(id__gt=""), name="has_id"))

    assert (model_of(state, "Thing"), model_of(state, "Part")) == (thing, part)
    assert [index.name for index in thing._meta.indexes] == ["by_id_down"]
    assert [constraint.name for constraint in thing._meta.constraints] == ["has_id"]


@pytest.mark.parametrize(
    ("field", "anew"), [(CharField("a name", max_length=9), False), (CharField(max_length=8), True)]
)
def test_class_is_made_anew_where_more_than_words_change(field: "CharField[str, str]", anew: bool) -> None:
    state = a_state()
    with sparing():
        state.add_field("t", "part", "name", CharField(max_length=9), preserve_default=True)
        part = model_of(state, "Part")

        state.alter_field("t", "part", "name", field, True)

    assert (model_of(state, "Part") is not part) == anew
    assert state.models["t", "part"].fields["name"] is field


@pytest.mark.parametrize(("options", "anew"), [({"verbose_name": "bit"}, False), ({"ordering": ["id"]}, True)])
def test_options_that_queries_go_by_make_the_class_anew(options: dict[str, object], anew: bool) -> None:
    state = a_state()
    part = model_of(state, "Part")

    with sparing():
        state.alter_model_options("t", "part", options)

    assert (model_of(state, "Part") is not part) == anew
    assert state.models["t", "part"].options.items() >= options.items()


def test_all_is_as_before_behind_it() -> None:
    before = ProjectState.alter_field
    with sparing():
        assert ProjectState.alter_field is not before

    assert ProjectState.alter_field is before
