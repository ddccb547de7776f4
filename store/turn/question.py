"""Questions that a turn puts to its user before it goes on, and the user's answers (specification 14.1).

A turn with open questions waits: its status is ``waiting``, its questions stand in its row, and nothing runs for it.
``graph.turn.agent.Agent.resume`` goes on with the answers. Both are plain data, so a turn waits through a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast
from urllib.parse import urlsplit

QuestionKind = Literal["approve", "choose", "form", "login", "client"]
Action = Literal["once", "always", "no", "answer"]


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """One question of a tool call.

    ``id``: unique within the turn. ``call``: the id of the tool call; ``tool``: the name the model knows; ``server``:
    whose tool it is, empty for ours. ``kind``: ``approve`` (may this tool run with ``arguments``?), ``choose``
    (``text`` with ``choices``; an answer in free words is allowed), ``form`` (a server wants values by the JSON schema
    ``schema``), ``login`` (a server wants the user to visit ``url`` and come back), ``client`` (the client's program is
    to run its own tool with ``arguments``; no person answers that). ``text``: the question in the
    asker's words, which are data. ``state``: what the asker needs to go on, opaque to everybody else, never shown.
    """

    id: str
    kind: QuestionKind
    call: str
    tool: str
    text: str = ""
    server: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    schema: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Returns the host of the address that a server wants visited; empty where the address is no safe one: only
        https leads anywhere."""
        try:
            parts = urlsplit(self.url)
            return (parts.hostname or "") if parts.scheme == "https" else ""
        except ValueError:  # the address is a foreign text
            return ""

    def plain(self) -> dict[str, Any]:
        """Returns the question as plain data for the record."""
        return asdict(self) | {"choices": list(self.choices)}


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """The user's answer to one question.

    ``once`` and ``always`` allow a tool; ``parse_user_answer`` carries a ``value``: a text for ``choose``, an object by
    the schema for ``form``, None for ``login`` (the user has been there). ``no`` refuses any question. ``state``: what
    the question kept for its asker.
    """

    action: Action
    value: Any = None
    state: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Returns the answer as plain data for the checkpoint."""
        return asdict(self)


NO = UserAnswer("no")


_ANSWERS, _CALL = "answers", "call"


def build_call_configuration(key: str, answers: Mapping[str, UserAnswer]) -> dict[str, Any]:
    """Returns what a call finds in its configuration: its key, and the user's answers of this turn by the ids of their
    questions."""
    return {_CALL: key, _ANSWERS: dict(answers)}


def read_call_answers(configurable: Mapping[str, Any]) -> Mapping[str, UserAnswer]:
    """Returns the user's answers that a tool is called with; none at its first call."""
    return cast("Mapping[str, UserAnswer]", configurable.get(_ANSWERS, {}))


def read_call_key(configurable: Mapping[str, Any]) -> str:
    """Returns the key of the call that a tool runs for; empty outside a turn."""
    return str(configurable.get(_CALL, ""))


class OpenUserQuestions(Exception):
    """Raised by a tool that cannot go on before the user has answered ``questions``."""

    def __init__(self, questions: Sequence[UserQuestion]) -> None:
        super().__init__("the tool waits for the user")
        self.questions = tuple(questions)


def parse_user_question(plain: Mapping[str, Any]) -> UserQuestion:
    """Returns a question from its plain data."""
    return UserQuestion(**{**plain, "choices": tuple(plain.get("choices", ()))})


def parse_user_answer(plain: Mapping[str, Any]) -> UserAnswer:
    """Returns an answer from its plain data."""
    return UserAnswer(plain["action"], plain.get("value"), plain.get("state") or {})
