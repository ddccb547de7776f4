"""What the tests of the graph talk about, and how: turns with words of their own, models that answer without end."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall

from graph.turn.agent import Agent
from graph.turn.event import Done, Event, Failed
from model.scripted import ScriptedModel
from tests.wait import until

Kind = TypeVar("Kind")
SECONDS = 60
SYLLABLES = "가나다라마바사아자차"


def topic(number: int) -> str:
    """A word that belongs to one turn alone, without digits, so that no fact check looks at it."""
    return "주제" + "".join(SYLLABLES[int(digit)] for digit in f"{number:03}")


def question(number: int) -> str:
    return f"{topic(number)} 이야기를 처음부터 차근차근 들려줄래?"


def answer(number: int) -> str:
    return f"{topic(number)} 이야기는 아주 길어서 오늘은 앞부분만 말씀드리고 나머지는 다음에 이어 가겠습니다"


def topics(text: str) -> list[str]:
    return re.findall(f"주제[{SYLLABLES}]{{3}}", text)


def answering(messages: list[BaseMessage]) -> str:
    """Answers the last question about its own topic, whatever it is."""
    asked = next(str(each.text) for each in reversed(messages) if each.type == "human")
    named = topics(asked)
    return (
        f"{named[-1]} 이야기는 아주 길어서 오늘은 앞부분만 말씀드리고 나머지는 다음에 이어 가겠습니다"
        if named
        else "네, 알겠습니다"
    )


def summarising(messages: list[BaseMessage]) -> str:
    """A summary of exactly the asked length that names what it is about."""
    text = str(messages[-1].text)
    target = re.search(r"(\d+)자쯤", text)
    length = int(target[1]) if target else 12
    named = ",".join(dict.fromkeys(each.removeprefix("주제") for each in topics(text)))
    said = "이야기는 아주 길어서 앞부분만 말씀드리고 나머지는 다음에 이어 가겠습니다 " * (length // 20 + 1)
    return f"요약({named}) {said}"[:length].strip().ljust(length, "음")


def calling(name: str, call: str = "call-1", **arguments: object) -> AIMessage:
    """An answer that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=arguments, id=call, type="tool_call")])


def say(agent: Agent, session: str, text: str, stop: threading.Event | None = None) -> list[Event]:
    """One whole turn."""
    return list(agent.run(session, text, stop=stop))


def settled(agent: Agent) -> None:
    """Waits until the side work after a turn is over."""
    assert agent.background.idle(SECONDS)


def settled_but_vectors(agent: Agent) -> None:
    """Waits until the side work is over, except for the vectors of a thousand turns, which take minutes."""
    until(lambda: not agent.background.has(lambda key: not isinstance(key, tuple) or key[0] != "turns"))


def talk(agent: Agent, session: str, numbers: Iterable[int]) -> None:
    """Whole turns that must all succeed, typed slowly: the side work after each is over before the next."""
    for number in numbers:
        done(say(agent, session, question(number)))
        settled(agent)


def hurry(agent: Agent, session: str, numbers: Iterable[int]) -> list[list[Event]]:
    """The same typed at once after every answer; gives the events turn by turn."""
    turns = [say(agent, session, question(number)) for number in numbers]
    for events in turns:
        done(events)
    return turns


def done(events: Sequence[Event]) -> Done:
    """The end of a turn that has to be answered."""
    end = events[-1]
    assert isinstance(end, Done), end
    return end


def failed(events: Sequence[Event]) -> Failed:
    """The end of a turn that has to fail."""
    end = events[-1]
    assert isinstance(end, Failed), end
    return end


def only(events: Sequence[Event], kind: type[Kind]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def scripted(model: object) -> ScriptedModel:
    assert isinstance(model, ScriptedModel)
    return model


def prompts(agent: Agent) -> list[list[BaseMessage]]:
    """What the chat model received so far, call by call."""
    return scripted(agent.models().chat).calls


def summary_calls(agent: Agent) -> int:
    return len(scripted(agent.models().utility).calls)


def summarised(prompt: Sequence[BaseMessage]) -> list[tuple[int, int]]:
    """The turn ranges whose summaries stand in a real prompt."""
    system = prompt[0]
    assert isinstance(system, SystemMessage)
    return [
        (int(a), int(b))
        for a, b in re.findall(r"^\[(?:앞서 나눈 말: )?(\d+)-(\d+)턴\]", str(system.text), re.MULTILINE)
    ]


def raw(prompt: Sequence[BaseMessage]) -> list[str]:
    """The topics whose questions stand raw in a real prompt."""
    return [
        topics(str(message.text))[-1] for message in prompt if message.type == "human" and topics(str(message.text))
    ]


def plain(prompt: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, str(message.text)) for message in prompt]


Script = Callable[[list[BaseMessage]], str]
