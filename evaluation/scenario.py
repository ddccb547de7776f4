"""Scenarios: recorded conversations with a query and the values that a memory should hold then.

A scenario is one YAML file of ``evaluation/scenario/``. A mistake in it names the file, the line and the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from yaml.reader import ReaderError

from errors import BadScenario, BadTextFile, UnknownChoice
from text.language import Language

FOLDER = Path(__file__).parent / "scenario"
SIZE_LIMIT = 1_000_000
"""Bytes of the longest scenario file."""

Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class _ScenarioModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedCall(_ScenarioModel):
    """A tool call of a recorded answer, and what the tool returned then."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: Text


class RecordedTurn(_ScenarioModel):
    """One turn: what the user said, the recorded tool calls and the recorded answer. ``at``: when it was said."""

    user: Text
    answer: Text
    tools: tuple[RecordedCall, ...] = ()
    at: datetime | None = None


class OtherConversation(_ScenarioModel):
    """A conversation of another person, played before. Nothing of it may reach the scenario's user."""

    user: Annotated[str, Field(pattern=r"^[\w-]{1,40}$")]
    turns: Annotated[tuple[RecordedTurn, ...], Field(min_length=1)]


class Query(_ScenarioModel):
    """The question that the memory is judged for. ``turn``: its number, the one after the last recorded turn."""

    turn: Annotated[int, Field(ge=2)]
    text: Text
    at: datetime | None = None


class Current(_ScenarioModel):
    """A value that replaced others: ``value`` holds now, ``old`` no more."""

    value: Text
    old: Annotated[tuple[Text, ...], Field(min_length=1)]


class Under(_ScenarioModel):
    """A value that belongs to a name, and other names that it could be mistaken for."""

    value: Text
    name: Text
    others: tuple[Text, ...] = ()


class Expectations(_ScenarioModel):
    """What a context should hold at the query: values that are there, current, under their names, or absent."""

    present: tuple[Text, ...] = ()
    current: tuple[Current, ...] = ()
    under: tuple[Under, ...] = ()
    absent: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _asks_something(self) -> Expectations:
        if not (self.present or self.current or self.under):
            raise ValueError("expects no value: name one under present, current or under")
        return self


class Scenario(_ScenarioModel):
    """A recorded conversation with its query and expectations. ``name``: the file's name without its suffix."""

    name: str
    language: Language
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    about: Text
    turns: Annotated[tuple[RecordedTurn, ...], Field(min_length=1, max_length=1000)]
    query: Query
    expect: Expectations
    user: Annotated[str, Field(pattern=r"^[\w-]{1,40}$")] = "me"
    others: tuple[OtherConversation, ...] = ()

    @field_validator("query")
    @classmethod
    def _query_follows(cls, query: Query, fields: ValidationInfo) -> Query:
        turns = fields.data.get("turns")
        if turns is not None and query.turn != len(turns) + 1:
            raise ValueError(f"query.turn is {query.turn}, but {len(turns)} turns stand before it")
        return query

    @field_validator("others")
    @classmethod
    def _of_other_people(
        cls, others: tuple[OtherConversation, ...], fields: ValidationInfo
    ) -> tuple[OtherConversation, ...]:
        if any(other.user == fields.data.get("user") for other in others):
            raise ValueError(f"{fields.data['user']!r} is the user of the scenario")
        return others


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads YAML without aliases, which could repeat a value without end, and without a name that stands twice in a
    mapping. Dates stay text, so that a wrong one is a mistake of its field."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        names = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in names:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} stands twice", problem_mark=key.start_mark)
            names.add(key.value)
        return node


def list_scenario_names() -> list[str]:
    """Returns the names of the scenarios that come with Gieok, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def find_scenarios(wanted: Sequence[str], language: Language | None = None) -> list[Scenario]:
    """Returns scenarios by name, by kind, or by the path of a file; all of them when ``wanted`` is empty.

    Reads all of them first, so that a mistake in one is found before any runs. Raises ``UnknownChoice``,
    ``BadScenario`` and ``BadTextFile``.
    """
    own = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
    chosen: dict[Path, None] = {}
    for name in wanted:
        path = Path(name)
        if path.suffix in (".yaml", ".yml"):
            chosen[path] = None
            continue
        matching = (
            [own[name]]
            if name in own
            else [file for stem, file in own.items() if _strip_scenario_language(stem) == name]
        )
        if not matching:
            known = ", ".join(own)
            raise UnknownChoice(what="scenario", value=name, known=known)
        chosen |= dict.fromkeys(matching)
    loaded = [load_scenario(path) for path in (chosen or own.values())]
    return [scenario for scenario in loaded if language in (None, scenario.language)]


def _strip_scenario_language(name: str) -> str:
    """Returns a name without its language: ``budget_update`` for ``budget_update_ko``."""
    return name.rpartition("_")[0]


def load_scenario(path: Path) -> Scenario:
    """Returns the scenario of a file. Raises ``BadScenario`` with file, line and field, or ``BadTextFile``."""
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise BadScenario(file=path.name, line=0, field="", reason=f"the file has more than {SIZE_LIMIT} bytes")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTextFile(path=path, reason="it is not UTF-8", reason_code="no_utf8") from error
    except OSError as error:
        raise BadTextFile(path=path, reason=error.strerror or type(error).__name__) from error
    return parse_scenario(text, path.name)


def parse_scenario(text: str, file: str) -> Scenario:
    """Returns the scenario of a YAML text; ``file`` stands in errors and names the scenario. Raises ``BadScenario``."""
    root, value = _parse_scenario_yaml(text, file)
    if not isinstance(value, dict):
        raise BadScenario(file=file, line=1, field="", reason="it is no mapping of fields")
    try:
        return Scenario.model_validate({**value, "name": Path(file).stem})
    except ValidationError as error:
        first = error.errors()[0]
        place = [part for part in first["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
        reason = str(first["msg"]).removeprefix("Value error, ")
        field = ".".join(str(part) for part in place)
        raise BadScenario(file=file, line=_find_field_line(root, place), field=field, reason=reason) from error


def _parse_scenario_yaml(text: str, file: str) -> tuple[yaml.Node | None, Any]:
    """Returns the nodes of a YAML text, which know their lines, and its value. Raises ``BadScenario``."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"the character {error.character!r} is not allowed"
        raise BadScenario(file=file, line=line, field="", reason=reason) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error)
        raise BadScenario(file=file, line=mark.line + 1 if mark else 0, field="", reason=str(reason)) from error
    except RecursionError as error:
        raise BadScenario(file=file, line=0, field="", reason="it is nested too deeply") from error
    except ValueError as error:  # a number with thousands of digits
        raise BadScenario(file=file, line=0, field="", reason=str(error)) from error


def _find_field_line(root: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Returns the line of the deepest field or list item on the way to a field; 1 is the first line."""
    node, line = root, 1
    for part in place:
        following = next((child for child in _list_yaml_children(node) if child[0] == part), None)
        if following is None:
            break
        _, line, node = following
    return line


def _list_yaml_children(node: yaml.Node | None) -> Iterator[tuple[int | str, int, yaml.Node]]:
    """Yields the name or index of every child, its line and the child itself."""
    if isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), key.start_mark.line + 1, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((index, value.start_mark.line + 1, value) for index, value in enumerate(node.value))
