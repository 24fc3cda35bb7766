"""Tests that fast migration states render only the necessary models and lead to the same database."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import CASCADE, CharField, CheckConstraint, ForeignKey, Index, Model, Q

from apps.ground.migration_states import fast_migration_states


def describe_models(state: ProjectState) -> dict[tuple[str, str], object]:
    """Return a comparable description of every model in a state."""
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

    with fast_migration_states():
        spared = MigrationExecutor(connection).loader.project_state()

    assert describe_models(spared) == describe_models(plainly)


@pytest.mark.django_db
def test_after_all_migrations_no_class_knows_one_that_is_gone() -> None:
    loader = MigrationExecutor(connection).loader
    state = ProjectState(real_apps=loader.unmigrated_apps)
    assert state.apps.get_models() == []
    plan = {key: None for leaf in loader.graph.leaf_nodes() for key in loader.graph.forwards_plan(leaf)}

    with fast_migration_states():
        for key in plan:
            loader.graph.nodes[key].mutate_state(state, preserve=False)

    at_hand = set(state.apps.get_models(include_auto_created=True))
    relations = [
        field for model in at_hand for field in model._meta.get_fields(include_hidden=True) if field.is_relation
    ]
    related_models = {field.related_model for field in relations if field.related_model}
    assert len(at_hand) > 100
    assert len(relations) > len(at_hand)
    assert related_models - at_hand == set()


@pytest.mark.django_db
def test_database_has_every_index_and_constraint_of_the_models() -> None:
    missing = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            database_names = connection.introspection.get_constraints(cursor, model._meta.db_table)
            declared = [*model._meta.indexes, *model._meta.constraints]
            missing += [
                index.name for index in declared if index.name.lower() not in {name.lower() for name in database_names}
            ]

    assert missing == []


def build_state() -> ProjectState:
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


def get_model(state: ProjectState, name: str) -> type[Model]:
    model: type[Model] = state.apps.get_model("t", name)
    return model


def test_class_learns_of_indexes_and_constraints_and_others_stay() -> None:
    state = build_state()
    thing, part = get_model(state, "Thing"), get_model(state, "Part")

    with fast_migration_states():
        state.add_index("t", "thing", Index(fields=["id"], name="by_id"))
        state.add_index("t", "thing", Index(fields=["-id"], name="by_id_down"))
        state.remove_index("t", "thing", "by_id")
        state.add_constraint("t", "thing", CheckConstraint(condition=Q(id__gt=""), name="has_id"))

    assert (get_model(state, "Thing"), get_model(state, "Part")) == (thing, part)
    assert [index.name for index in thing._meta.indexes] == ["by_id_down"]
    assert [constraint.name for constraint in thing._meta.constraints] == ["has_id"]


def test_new_model_is_known_to_the_one_it_refers_to_which_stays() -> None:
    state = build_state()
    thing, part = get_model(state, "Thing"), get_model(state, "Part")

    with fast_migration_states():
        state.add_model(
            ModelState("t", "Note", [("id", CharField(primary_key=True)), ("part", ForeignKey("t.Part", CASCADE))])
        )

    assert (get_model(state, "Thing"), get_model(state, "Part")) == (thing, part)
    assert [relation.related_model for relation in part._meta.related_objects] == [get_model(state, "Note")]
    assert hasattr(part, "note_set")


def test_only_models_that_refer_to_a_changed_model_are_rendered_again() -> None:
    state = build_state()
    key = ("id", CharField(max_length=9, primary_key=True))
    state.add_model(ModelState("t", "Place", [key]))
    state.add_model(ModelState("t", "Kind", [key, ("place", ForeignKey("t.Place", CASCADE))]))
    state.add_model(ModelState("t", "Child", [], bases=("t.Part",)))
    place_model, thing, part, child = (get_model(state, name) for name in ("Place", "Thing", "Part", "Child"))

    with fast_migration_states():
        state.add_field("t", "thing", "kind", ForeignKey("t.Kind", CASCADE), preserve_default=True)

    assert get_model(state, "Place") is place_model
    assert not {thing, part, child} & {get_model(state, name) for name in ("Thing", "Part", "Child")}
    assert get_model(state, "Part")._meta.get_field("thing").related_model is get_model(state, "Thing")
    assert issubclass(get_model(state, "Child"), get_model(state, "Part"))
    assert [relation.related_model for relation in get_model(state, "Kind")._meta.related_objects] == [
        get_model(state, "Thing")
    ]


@pytest.mark.parametrize(
    ("field", "is_rendered"), [(CharField("a name", max_length=9), False), (CharField(max_length=8), True)]
)
def test_class_is_rendered_again_if_more_than_texts_change(field: "CharField[str, str]", is_rendered: bool) -> None:
    state = build_state()
    with fast_migration_states():
        state.add_field("t", "part", "name", CharField(max_length=9), preserve_default=True)
        part = get_model(state, "Part")

        state.alter_field("t", "part", "name", field, True)

    assert (get_model(state, "Part") is not part) == is_rendered
    assert state.models["t", "part"].fields["name"] is field


@pytest.mark.parametrize(("options", "is_rendered"), [({"verbose_name": "bit"}, False), ({"ordering": ["id"]}, True)])
def test_options_that_affect_queries_render_the_class_again(options: dict[str, object], is_rendered: bool) -> None:
    state = build_state()
    part = get_model(state, "Part")

    with fast_migration_states():
        state.alter_model_options("t", "part", options)

    assert (get_model(state, "Part") is not part) == is_rendered
    assert state.models["t", "part"].options.items() >= options.items()


def test_all_is_as_before_behind_it() -> None:
    before = ProjectState.alter_field
    with fast_migration_states():
        assert ProjectState.alter_field is not before

    assert ProjectState.alter_field is before
