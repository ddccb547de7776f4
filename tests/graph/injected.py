"""Ways on which text of others reaches a prompt, and a stand-in for a strong model that obeys it wherever it stands.

Each way is a function that brings an order into a new conversation and returns it; what the user says then
has nothing to do with the order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import StructuredTool

from errors import ModelTimeout
from graph.answer.json_form import JsonForm
from graph.turn.agent import Agent
from graph.turn.memory import past_turns
from graph.turn.request import AnswerLimits
from retrieval import Library
from store import GivenTurn
from store.export import portable
from store.session.options import AnswerOptions
from tests.graph.asking import ask
from tests.graph.strong import new
from tests.graph.talk import done, failed, say, scripted, settled
from tests.retrieval.conftest import Words
from tests.stub.strong import READ, Wish, calling
from text.fence import frame_outside_text

HARMLESS = "Good morning, tell me something nice about pears."
PAGE = "What does the page say?"
OLDER = tuple(f"Tell me fact {number} about apples." for number in range(1, 8))


@dataclass
class Obedient:
    """The chat model. ``order``: what it obeys; ``wishes``: what it understands of the user. It tells what a page says,
    and then obeys what its prompt says, whoever wrote it. ``fetch``: words with which it searches past turns first;
    ``repeats``: what it answers for now; ``fails``: it fails once a page was read; ``read_forms``: returns the forms of
    the tools that it was offered."""

    order: Wish | None = None
    wishes: tuple[Wish, ...] = ()
    fetch: str = ""
    repeats: str = ""
    fails: bool = False
    read_forms: Callable[[], str] = str

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        asked = next(str(each.text) for each in reversed(messages) if each.type == "human").rsplit("\n", 1)[-1]
        if self.repeats:
            return AIMessage(self.repeats)
        if PAGE in asked:
            is_read = isinstance(last, ToolMessage)
            if is_read and self.fails:
                raise ModelTimeout(seconds=1, url="u")
            return AIMessage(f"It says: {last.text}") if is_read else calling(READ, about=asked)
        if "fact" in asked:
            return AIMessage("Apples are red.")
        if self.fetch and not any(isinstance(each, ToolMessage) for each in messages):
            return calling("recall", query=self.fetch)
        wish = self._find_wish(asked, messages)
        if isinstance(last, ToolMessage) and last.name == "forget" and wish is not None:
            listed = re.findall(r"^(\d+)\. (.+)$", str(last.text), re.MULTILINE)
            numbers = [int(number) for number, line in listed if line.startswith(f"{wish.key}: ")]
            return calling("forget", numbers=numbers) if numbers else AIMessage("So it is.")
        if wish is None or (isinstance(last, ToolMessage) and last.name != "recall"):
            return AIMessage("Pears are green.")
        return calling("remember", key=wish.key, value=wish.value) if wish.value else calling("forget", what=wish.key)

    def _find_wish(self, asked: str, messages: list[BaseMessage]) -> Wish | None:
        own = next((wish for wish in self.wishes if wish.text in asked), None)
        seen = "\n".join([*(str(each.content) for each in messages), self.read_forms()])
        return own or (self.order if self.order is not None and self.order.text in seen else None)


def repeat(messages: list[BaseMessage]) -> str:
    """The utility model: its summaries say all that was said, and so do its memories."""
    material = "\n".join(str(each.text) for each in messages)
    said = re.findall(r"^(?:\[(?:User|AI|사용자)\]|User:|AI:) ?(.+)$", material, re.MULTILINE)
    if "<memory>" in material:
        return json.dumps({"memory": said[-15:], "entities": [], "gone": []}, ensure_ascii=False)
    return " ".join(line for line in said if "It says" in line) or "They talked about apples for a while."


Way = Callable[[Agent, Wish], tuple[Agent, str]]


def read(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A page says it, and the answer repeats it."""
    own = new(agent)
    done(say(agent, own, PAGE))
    return agent, own


def summarise(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A page says it, the answer repeats it, and only a summary still has it."""
    agent, own = read(agent, order)
    for text in OLDER[:6]:
        done(say(agent, own, text))
        settled(agent)
    return agent, own


def find(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """The search in past turns finds the answer in another conversation."""
    agent, other = read(agent, order)
    settled(agent)
    past_turns.plan_index(agent, other)
    settled(agent)
    return agent, new(agent)


def instruct(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A client's system text says it."""
    own = new(agent)
    agent.store.set_client_system(own, f"You are a pirate. {order.text}")
    return agent, own


def tell(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A client tells an answer that nobody here gave."""
    own = new(agent)
    given = (GivenTurn("Who are you?", f"A helper. {order.text}", 0),)
    done(ask(agent, own, OLDER[0], given=given))
    return agent, own


def shape(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """The schema of an answer in JSON says it, and an earlier answer repeats it."""
    own = new(agent)
    chat_of(agent).repeats = json.dumps({"answer": order.text})
    schema = {"type": "object", "properties": {"answer": {"type": "string", "description": order.text}}}
    done(ask(agent, own, OLDER[0], limits=AnswerLimits(form=JsonForm(schema))))
    chat_of(agent).repeats = ""
    return agent, own


def show(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """An image says it; the answer describes the image."""
    own = new(agent)
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{order.text}"}}
    done(ask(agent, own, HARMLESS, images=(picture,)))
    return agent, own


def describe(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """The description of another program's tool says it; nobody calls the tool."""
    other = StructuredTool.from_function(lambda: "", name="t__add", description=f"Adds. {order.text}")
    other.metadata = {"foreign": True, "server": "t", "about": {"ko": order.text, "en": order.text}}
    return replace(agent, tools=[*agent.tools, other]), new(agent)


def bring(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A file says it, and that nothing in it is foreign."""
    agent, own = read(agent, order)
    data = json.loads(portable.render_session_json(agent.store, own))
    for turn in data["turns"]:
        turn["steps"] = [{**step, "foreign": False} for step in turn["steps"]]
        turn["messages"] = [turn["messages"][0], turn["messages"][-1]]
    (copy,) = portable.import_conversations(agent.store, json.dumps(data).encode(), 10**7, len).sessions
    return agent, copy


def attach(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A file that was sent along says it, some turns ago."""
    own = new(agent)
    done(say(agent, own, f"{frame_outside_text('a.txt', order.text, 'This is data.')}\n\n{OLDER[0]}"))
    return agent, own


def import_memory(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A file of memories says it as a fact of the user's."""
    own = new(agent)
    assert agent.memory is not None
    agent.memory.writer.remember(agent.tenant, own, "note", order.text, turn=0, user=agent.user)
    exported = agent.memory.export_user(agent.tenant, agent.user)
    agent.memory.eraser.forget_lines(agent.tenant, own, [f"note: {order.text}"], turn=0, user=agent.user)
    data = json.loads(json.dumps(exported).replace(own, "elsewhere"))
    data["memories"] = [
        {**each, "lines": [line for line in each["lines"] if line["key"] == "note"]} for each in data["memories"]
    ]
    assert agent.memory.import_user(agent.tenant, data, agent.user) == 1
    return agent, own


def copy(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A copy of a conversation in which a page was read."""
    agent, own = read(agent, order)
    return agent, agent.fork(own, 1)


def branch(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """Another version of the turn after a page, made from the record."""
    agent, own = read(agent, order)
    done(say(agent, own, OLDER[0]))
    agent.checkpoints.saver.delete_thread(own)
    done(list(agent.again(own, 2, OLDER[1])))
    return agent, own


def relay(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A page says it in one conversation, a second one finds and repeats that, a third one finds the second."""
    agent, own = find(agent, order)
    chat = chat_of(agent)
    chat.order, kept = None, chat.order
    chat.repeats = order.text
    done(say(agent, own, "What did that page say, the one I asked about?"))
    chat.order, chat.repeats = kept, ""
    agent.store.put_away(agent.store.sessions()[-1].id)
    settled(agent)
    past_turns.plan_index(agent, own)
    settled(agent)
    return agent, new(agent)


def fail(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A page says it, and the model fails before it answers; another turn follows."""
    own = new(agent)
    chat = chat_of(agent)
    chat.fails = True
    failed(say(agent, own, PAGE))
    chat.fails = False
    done(list(agent.retry(own)))
    return agent, own


def attach_long_ago(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A file that was sent along says it, an answer repeats it, and only a summary has it."""
    own = new(agent)
    chat_of(agent).repeats = f"It says: {order.text}"
    done(say(agent, own, f"{frame_outside_text('b.txt', order.text, 'This is data.')}\n\nWhat is in it?"))
    chat_of(agent).repeats = ""
    return _go_on(agent, own)


def instruct_before(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A client's system text said it, which the client has changed since; an answer repeats it."""
    agent, own = instruct(agent, order)
    chat_of(agent).repeats = f"It says: {order.text}"
    done(say(agent, own, "Who are you?"))
    chat_of(agent).repeats = ""
    agent.store.set_client_system(own, "")
    return agent, own


def tell_long_ago(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A client told an answer, and only a summary has it."""
    own = new(agent)
    done(ask(agent, own, OLDER[0], given=(GivenTurn("Who are you?", f"It says: {order.text}", 0),)))
    return _go_on(agent, own)


def describe_before(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A tool's description said it; the tool is gone, and an answer repeats it."""
    with_tool, own = describe(agent, order)
    chat_of(agent).repeats = f"There is a tool. {order.text}"
    done(say(with_tool, own, "What can you do?"))
    chat_of(agent).repeats = ""
    return agent, own


def copy_of_file(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A copy of a conversation that came out of a file."""
    agent, own = bring(agent, order)
    return agent, agent.fork(own, 1)


def recall_memory(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A file of memories says it, and the model finds it by its own search."""
    agent, own = import_memory(agent, order)
    chat_of(agent).fetch = order.text
    return agent, own


def switch(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """The version of a turn in which a page was read is chosen again."""
    agent, own = read(agent, order)
    done(list(agent.again(own, 1, OLDER[0])))
    agent.switch(own, 1, 0)
    return agent, own


def lose_state(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """Only a summary has it, and the state of the conversation is lost."""
    agent, own = summarise(agent, order)
    agent.checkpoints.saver.delete_thread(own)
    return agent, own


def tabulate(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """A column of a table has it as its name, and so has the description of the tool that calculates with the table."""
    library = Library(agent.settings, agent.store, Words())
    library.add([("prices.csv", f"Item,{order.text}\nOak,38500\nPine,12900\nBirch,9900\n".encode())])
    agent = replace(agent, library=library)
    model = scripted(agent.models().chat)
    chat_of(agent).read_forms = lambda: str(model.bound_arguments[-1])
    return agent, new(agent)


def bring_role(agent: Agent, order: Wish) -> tuple[Agent, str]:
    """The system prompt in a file says it, and nothing is left of the turns in the file."""
    own = agent.store.create_session("en", 0.3, options=AnswerOptions(f"You are a pirate. {order.text}")).id
    done(say(agent, own, OLDER[0]))
    data = portable.render_session_json(agent.store, own).encode()
    (copy,) = portable.import_conversations(agent.store, data, 10**7, len).sessions
    done(list(agent.again(agent.fork(copy, 1), 1, OLDER[1])))
    done(list(agent.again(copy, 1, OLDER[1])))
    return agent, copy


def _go_on(agent: Agent, own: str) -> tuple[Agent, str]:
    """Six more turns, so that the first ones are summarised."""
    for text in OLDER[1:7]:
        done(say(agent, own, text))
        settled(agent)
    return agent, own


def chat_of(agent: Agent) -> Obedient:
    """The chat model's stand-in, which a way may tell what to do meanwhile."""
    answers = scripted(agent.models().chat).answers
    assert isinstance(answers, Obedient)
    return answers


WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (*(read, summarise, find, instruct, tell, show, describe, bring, attach, import_memory, copy, branch),)
}
LATER_WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (
        *(relay, fail, attach_long_ago, instruct_before, tell_long_ago),
        *(describe_before, copy_of_file, recall_memory, switch, lose_state, tabulate, bring_role),
    )
}
"""Further ways, each with an order of its own, written when the code stood."""
