"""The recorded shapes of streams: what servers send, as bytes, and what must come out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A stream as a server sends it. ``wire``: the packets of the body. The other fields: what must come out;
    ``again``: of the second of two equal answers. ``unseen``: written after what it tries was built."""

    table: str
    name: str
    wire: tuple[bytes, ...]
    text: str = ""
    thought: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    tokens: tuple[int, int, int] = (0, 0, 0)
    is_cut: bool = False
    error: str = ""
    stop: tuple[str, ...] = ()
    offers_tools: bool = False
    again: bool = False
    unseen: bool = False


def delta(change: Json, finish: str | None = None, **more: Any) -> Json:
    """Returns a chunk with one choice."""
    choice = {"index": 0, "delta": change, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def say(*pieces: str) -> list[Json]:
    """Returns the chunks of a text."""
    return [delta({"content": piece}) for piece in pieces]


def spell(text: str) -> list[Json]:
    """Returns the chunks of a text that comes letter by letter."""
    return say(*text)


def count(prompt: int, answer: int, **more: Any) -> Json:
    """Returns the chunk that holds the tokens only."""
    counted = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer, **more}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": counted}


def call(name: str, *pieces: str, index: int = 0, id_: str = "call_1") -> list[Json]:
    """Returns the chunks of a call whose arguments come in these pieces."""
    head = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [delta({"tool_calls": [each]}) for each in (head, *rest)]


END = delta({}, "stop")


def sse(events: Sequence[Json | str], *, line: str = "\n", done: bool = True, space: str = " ") -> tuple[bytes, ...]:
    """Returns the packets of a stream of events; a text goes out as it is. ``line``: how lines end; ``space``: what
    stands after the colon."""
    texts = [
        event if isinstance(event, str) else f"data:{space}{json.dumps(event, ensure_ascii=False)}{line}{line}"
        for event in (*events, *(["data: [DONE]" + line * 2] if done else []))
    ]
    return tuple(text.encode() for text in texts)


def glue(packets: Sequence[bytes], size: int) -> tuple[bytes, ...]:
    """Returns the same bytes in packets of another size, which cut letters and lines anywhere."""
    whole = b"".join(packets)
    return tuple(whole[at : at + size] for at in range(0, len(whole), size))


THOUGHT = "Okay, the user wants 2+2. It's 4.\nSure."
SUM = '{"expression": "2+2"}'
CALLED = (("calculate", {"expression": "2+2"}),)

CASES = (
    # --- thoughts ------------------------------------------------------------------------------
    Case(
        "thought",
        "ollama, qwen3: tags in pieces of a token",
        sse([*say("<think>", "\n", "Okay", ", hm", ".\n", "</think>", "\n\n", "It is", " 4."), END]),
        "It is 4.",
        "Okay, hm.",
    ),
    Case(
        "thought",
        "lm studio: letter by letter",
        sse([*spell(f"<think>{THOUGHT}</think>\n\nIt is 4."), END]),
        "It is 4.",
        THOUGHT,
    ),
    Case("thought", "tag and text in one chunk", sse([*say("<think>hm</think>It is 4."), END]), "It is 4.", "hm"),
    Case(
        "thought",
        "qwen3 with thinking off: an empty thought",
        sse([*say("<think>", "\n\n", "</think>", "\n\n", "It is 4."), END]),
        "It is 4.",
    ),
    Case(
        "thought",
        "white space before the tag",
        sse([*say("\n", " <thi", "nk>hm</thi", "nk>\nIt is 4."), END]),
        "It is 4.",
        "hm",
    ),
    Case(
        "thought",
        "deepseek: reasoning_content, content null",
        sse(
            [
                delta({"role": "assistant", "content": None, "reasoning_content": ""}),
                *(delta({"content": None, "reasoning_content": piece}) for piece in ("好", "的")),
                *(delta({"content": piece, "reasoning_content": None}) for piece in ("It is", " 4.")),
                END,
            ]
        ),
        "It is 4.",
        "好的",
    ),
    Case(
        "thought",
        "ollama, openrouter, new vllm: reasoning",
        sse(
            [
                *(delta({"role": "assistant", "content": "", "reasoning": piece}) for piece in ("We ", "add.")),
                *say("It is 4."),
                END,
            ]
        ),
        "It is 4.",
        "We add.",
    ),
    Case(
        "thought",
        "openrouter: the same in reasoning and reasoning_details",
        sse(
            [
                delta(
                    {"content": "", "reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}
                ),
                *say("4"),
                END,
            ]
        ),
        "4",
        "hm",
    ),
    Case(
        "thought",
        "vllm without a parser: only the closing tag",
        sse([*say("Okay, ", "so.\n", "</think>", "\n\n", "It is 4."), END]),
        "It is 4.",
        "Okay, so.",
    ),
    Case(
        "thought",
        "only the closing tag, known from the answer before",
        sse([*say("Okay, ", "so.\n", "</think>", "\n\n", "It is 4."), END]),
        "It is 4.",
        "Okay, so.",
        again=True,
    ),
    Case(
        "thought",
        "the tag inside an answer stays",
        sse([*say("Models write ", "<think>", " and </think>", " around thoughts."), END]),
        "Models write <think> and </think> around thoughts.",
    ),
    Case(
        "thought",
        "the tags in a block of code stay",
        sse([*say("```xml\n<th", "ink>a</think>\n```\nSo."), END]),
        "```xml\n<think>a</think>\n```\nSo.",
    ),
    Case(
        "thought",
        "a closing tag in a span of code stays",
        sse([*say("Close it with `</th", "ink>`."), END]),
        "Close it with `</think>`.",
    ),
    Case(
        "thought",
        "thoughts that never end",
        sse([*say("<think>", "and on and on"), delta({}, "length")]),
        "",
        "and on and on",
        is_cut=True,
    ),
    Case(
        "thought",
        "a thought before a call",
        sse([*say("<think>", "I must add", "</think>", "\n"), *call("calculate", SUM), delta({}, "tool_calls")]),
        "",
        "I must add",
        CALLED,
        offers_tools=True,
    ),
    # --- calls ---------------------------------------------------------------------------------
    Case(
        "call",
        "arguments in 30 pieces",
        sse([*call("calculate", *('{"expression": "' + "1+" * 7 + '1"}').ljust(30)), delta({}, "tool_calls")]),
        calls=(("calculate", {"expression": "1+1+1+1+1+1+1+1"}),),
        offers_tools=True,
    ),
    Case(
        "call",
        "two calls whose pieces take turns",
        sse(
            [
                *call("calculate", '{"expression"', index=0, id_="a"),
                *call("search_documents", '{"query":', index=1, id_="b"),
                delta({"tool_calls": [{"index": 0, "function": {"arguments": ':"2+2"}'}}]}),
                delta({"tool_calls": [{"index": 1, "function": {"arguments": '"x"}'}}]}),
                delta({}, "tool_calls"),
            ]
        ),
        calls=(*CALLED, ("search_documents", {"query": "x"})),
        offers_tools=True,
    ),
    Case(
        "call",
        "hermes, qwen: tags in the text",
        sse([*say("<tool", "_call>", '\n{"name": "calculate", "arguments": ', SUM, "}\n", "</tool_call>"), END]),
        calls=CALLED,
        offers_tools=True,
    ),
    Case(
        "call",
        "words before the tags are shown",
        sse(
            [*say("Let me see. ", "<tool_call>", '{"name": "calculate", "arguments": ', SUM, "}", "</tool_call>"), END]
        ),
        "Let me see. ",
        calls=CALLED,
        offers_tools=True,
    ),
    Case(
        "call",
        "a fence of json alone",
        sse([*say("``", "`json\n", '{"name": "calculate", ', f'"arguments": {SUM}}}', "\n```"), END]),
        calls=CALLED,
        offers_tools=True,
    ),
    Case(
        "call",
        "llama: plain json with parameters",
        sse([*spell('{"type": "function", "name": "calculate", "parameters": ' + SUM + "}"), END]),
        calls=CALLED,
        offers_tools=True,
    ),
    Case(
        "call",
        "a fence of json that calls nothing offered",
        sse([*say("```json\n", '{"name": "Kim", "arguments": {"age": 4}}', "\n```"), END]),
        '```json\n{"name": "Kim", "arguments": {"age": 4}}\n```',
        offers_tools=True,
    ),
    Case(
        "call",
        "the same text where no tools were offered",
        sse([*say('<tool_call>{"name": "calculate", "arguments": {}}</tool_call>'), END]),
        '<tool_call>{"name": "calculate", "arguments": {}}</tool_call>',
    ),
    # --- the stream ----------------------------------------------------------------------------
    Case(
        "stream",
        "azure: no choices first, with the filter's results",
        sse(
            [
                {
                    "id": "",
                    "object": "",
                    "created": 0,
                    "model": "",
                    "choices": [],
                    "prompt_filter_results": [{"prompt_index": 0}],
                },
                delta({"role": "assistant", "content": ""}),
                *say("Hi"),
                END,
            ]
        ),
        "Hi",
    ),
    Case(
        "stream",
        "no choices in the middle",
        sse(
            [
                *say("H"),
                {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []},
                *say("i"),
                END,
            ]
        ),
        "Hi",
    ),
    Case(
        "stream",
        "tokens in the middle",
        sse(
            [
                *say("H"),
                delta({"content": "i"}, usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}),
                END,
            ]
        ),
        "Hi",
        tokens=(7, 0, 2),
    ),
    Case(
        "stream",
        "a running total with every chunk",
        sse(
            [
                delta({"content": "H"}, usage={"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}),
                delta({"content": "i"}, usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}),
                END,
                count(7, 2),
            ]
        ),
        "Hi",
        tokens=(7, 0, 2),
    ),
    Case(
        "stream",
        "cached tokens are told once",
        sse(
            [
                *say("Hi"),
                END,
                count(
                    100,
                    2,
                    prompt_tokens_details={"cached_tokens": 64},
                    prompt_cache_hit_tokens=64,
                    prompt_cache_miss_tokens=36,
                ),
            ]
        ),
        "Hi",
        tokens=(100, 64, 2),
    ),
    Case(
        "stream",
        "openrouter: comment lines",
        sse([": OPENROUTER PROCESSING\n\n", *say("H"), ": OPENROUTER PROCESSING\n\n", *say("i"), END]),
        "Hi",
    ),
    Case("stream", "lines end with CRLF", sse([*say("H", "i"), END], line="\r\n"), "Hi"),
    Case("stream", "no [DONE]", sse([*say("H", "i"), END], done=False), "Hi"),
    Case("stream", "letters cut in the middle", glue(sse([*say("안녕, ", "기억 🦖"), END]), 1), "안녕, 기억 🦖"),
    Case(
        "stream", "an event cut in the middle of its line", glue(sse([*say("Hello", " there"), END]), 37), "Hello there"
    ),
    Case("stream", "no space after the colon", sse([*say("Hi"), END], space=""), "Hi"),
    Case("thought", "kimi: its own signs", sse([*spell("◁think▷Hm.◁/think▷Four."), END]), "Four.", "Hm.", unseen=True),
    Case(
        "thought",
        "mistral: parts of the content",
        sse(
            [
                delta({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}),
                delta({"content": [{"type": "text", "text": "Four"}]}),
                *say("."),
                END,
            ]
        ),
        "Four.",
        "Hm.",
        unseen=True,
    ),
    Case(
        "thought",
        "sglang: both fields with the same",
        sse([delta({"reasoning_content": "Hm.", "reasoning": "Hm."}), *say("Four."), END]),
        "Four.",
        "Hm.",
        unseen=True,
    ),
    Case(
        "thought",
        "an answer about html after a thought",
        sse([*say("<think>easy</think>", "\n\nWrite `<b>` and ", "close it with </b", ">."), END]),
        "Write `<b>` and close it with </b>.",
        "easy",
        unseen=True,
    ),
    Case(
        "thought",
        "two thoughts one after the other",
        sse([*say("<think>one</think>\n", "<think>", "two", "</think>\nFour."), END]),
        "Four.",
        "onetwo",
        unseen=True,
    ),
    Case(
        "thought",
        "a known model that answers at once",
        sse([*say("At ", "once."), END]),
        "At once.",
        again=True,
        unseen=True,
    ),
    Case(
        "thought",
        "cut off in the middle of a closing tag",
        sse([*say("<think>hm</thi"), delta({}, "length")]),
        "",
        "hm</thi",
        is_cut=True,
        unseen=True,
    ),
    Case(
        "call",
        "qwen coder: parameters between tags",
        sse(
            [
                *say("<tool_call>\n<function=calculate>\n", "<parameter=expression>\n2+2\n</parameter>\n"),
                *say("</function>\n</tool_call>"),
                END,
            ]
        ),
        calls=CALLED,
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "call",
        "mistral: its mark in the text",
        sse([*spell('[TOOL_CALLS][{"name": "calculate", "arguments": ' + SUM + "}]"), END]),
        calls=CALLED,
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "call",
        "two calls in two pairs of tags",
        sse(
            [
                *say('<tool_call>{"name": "calculate", "arguments": ' + SUM + "}</tool_call>\n"),
                *say('<tool_call>{"name": "search_documents", "arguments": {"query": "x"}}</tool_call>'),
                END,
            ]
        ),
        calls=(*CALLED, ("search_documents", {"query": "x"})),
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "call",
        "a tag in a block of code is shown",
        sse([*say("```\n<tool_call>", '{"name": "calculate", "arguments": {}}', "</tool_call>\n```"), END]),
        '```\n<tool_call>{"name": "calculate", "arguments": {}}</tool_call>\n```',
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "call",
        "an answer in json that is no call",
        sse([*spell('{"name": "Kim", "age": 41}'), END]),
        '{"name": "Kim", "age": 41}',
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "call",
        "arguments as an object, name with every piece",
        sse(
            [
                delta(
                    {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "a",
                                "function": {"name": "calculate", "arguments": {"expression": "2+2"}},
                            }
                        ]
                    }
                ),
                delta({}, "tool_calls"),
            ]
        ),
        calls=CALLED,
        offers_tools=True,
        unseen=True,
    ),
    Case(
        "stream",
        "the last piece and its reason in one chunk, tokens beside it",
        sse([*say("H"), delta({"content": "i"}, "stop", usage=count(5, 2)["usage"])]),
        "Hi",
        tokens=(5, 0, 2),
        unseen=True,
    ),
    Case(
        "stream",
        "events named and numbered",
        sse([f"event: message\nid: 7\ndata: {json.dumps(each)}\n\n" for each in (*say("H", "i"), END)]),
        "Hi",
        unseen=True,
    ),
    Case(
        "stream",
        "usage null in every chunk",
        sse([delta({"content": "Hi"}, usage=None), delta({}, "stop", usage=None), count(3, 1)]),
        "Hi",
        tokens=(3, 0, 1),
        unseen=True,
    ),
    Case(
        "stream",
        "CRLF cut between its two letters",
        glue(sse([*say("안", "녕"), END], line="\r\n"), 3),
        "안녕",
        unseen=True,
    ),
    Case(
        "stream",
        "ends at its limit",
        sse([*say("It goes on and"), delta({}, "length"), count(9, 4)]),
        "It goes on and",
        tokens=(9, 0, 4),
        is_cut=True,
        unseen=True,
    ),
    Case("stream", "it ends without a reason", sse([*say("Hi")]), "Hi", error="model_broken"),
)
"""Every case. Those with ``unseen`` were written last."""
