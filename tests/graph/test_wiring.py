"""The graph as LangGraph's own tools see it."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from errors import Empty
from graph.turn.runtime import TurnContext
from graph.wiring import compile_chat_graph, graph
from model import scripted
from settings import load_settings
from tests.graph.talk import answer, answering, calling, question, raw, summarised, summarising, topic

MERMAID = """---
config:
  flowchart:
    curve: linear
---
graph TD;
\t__start__([<p>__start__</p>]):::first
\tcasual_node(casual_node)
\tsummary_node(summary_node)
\tllm_node(llm_node)
\task_node(ask_node)
\ttool_node(tool_node)
\t__end__([<p>__end__</p>]):::last
\t__start__ -.-> casual_node;
\t__start__ -.-> llm_node;
\t__start__ -.-> summary_node;
\task_node --> tool_node;
\tllm_node -.-> __end__;
\tllm_node -.-> tool_node;
\tsummary_node --> llm_node;
\ttool_node -.-> ask_node;
\ttool_node -.-> llm_node;
\tcasual_node --> __end__;
\tclassDef default fill:#f2f0ff,line-height:1.2
\tclassDef first fill-opacity:0
\tclassDef last fill:#bfb6fc
"""


def test_the_drawing() -> None:
    assert graph.get_graph().draw_mermaid() == MERMAID


def test_it_runs_without_a_checkpointer_a_store_or_a_key() -> None:
    chat = (calling("calculate", expression="6*7"), answer(1))
    context = TurnContext(scripted.build_scripted_models(chat, summarising), load_settings())
    end = graph.invoke({"messages": [HumanMessage(question(1))]}, context=context)
    assert [message.type for message in end["messages"]] == ["human", "ai", "tool", "ai"]
    assert end["messages"][-1].text == answer(1)


def test_it_counts_turns_by_itself_when_nobody_does() -> None:
    """As LangGraph's own tools call it: the whole conversation as messages, again and again."""
    context = TurnContext(scripted.build_scripted_models(answering, summarising), load_settings())
    state: dict[str, object] = {"messages": []}
    for number in range(1, 6):
        messages = [*state["messages"], HumanMessage(question(number))]  # type: ignore[misc]
        state = graph.invoke({**state, "messages": messages}, context=context)
    assert state["messages"][-1].text == answer(5)  # type: ignore[index]
    assert summarised(context.models.chat.calls[-1]) == [(1, 3)]  # type: ignore[attr-defined]
    assert raw(context.models.chat.calls[-1]) == [topic(4), topic(5)]  # type: ignore[attr-defined]


def test_its_records_name_the_thread_when_nobody_names_the_session() -> None:
    context = TurnContext(scripted.build_scripted_models(answering, summarising), load_settings())
    kept = compile_chat_graph(InMemorySaver())
    for number in range(1, 5):
        end = kept.invoke(
            {"messages": [HumanMessage(question(number))]}, {"configurable": {"thread_id": "t1"}}, context=context
        )
    assert [(each["thread_id"], each["turns"]) for each in end["summary_history"]] == [("t1", [1, 2, 3])]


@pytest.mark.parametrize("messages", [[], [AIMessage("hello")]])
def test_without_a_message_of_the_user_it_says_so(messages: list[AIMessage]) -> None:
    with pytest.raises(Empty):
        graph.invoke(
            {"messages": messages}, context=TurnContext(scripted.build_scripted_models(answering), load_settings())
        )
