"""A session as a Markdown document for people: questions and answers, tool calls with results, and summaries."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from datetime import datetime, tzinfo
from functools import cache
from typing import Any

from markdown_it import MarkdownIt

from store.record import Session, SummaryRow, TurnRow
from store.store import Store
from text.clean import clean_text, collapse_spaces
from text.language import Language

_PAGE = 200
_AFTER = "after it"
"""Text behind an answer, to see whether a code block of the answer would hold it."""
_WORDS: dict[Language, dict[str, str]] = {
    "ko": {
        "untitled": "제목 없는 대화",
        "head": "{created}부터 {updated}까지 · {turns}턴 · 요약 압축률 {rate:g}",
        "turn": "{number}번째 턴 · {moment}",
        "user": "사용자",
        "answer": "답변",
        "thought": "{seconds}초 동안 생각함",
        "tool": "도구 {name}({arguments})",
        "failed_tool": "도구 {name}({arguments}) · 실패",
        "stopped": "사용자가 여기서 멈추었습니다.",
        "cut_off": "답변이 토큰 한도에서 잘렸습니다.",
        "running": "아직 답변하고 있거나 도중에 끊겼습니다.",
        "waiting": "사용자의 답을 기다립니다.",
        "failed": "답변하지 못했습니다: {error}",
        "up": "👍 도움이 됨",
        "down": "👎 도움이 안 됨",
        "summaries": "부록: 요약",
        "summary": "{turns}턴 · {before:,}자 → {after:,}자 (압축률 {rate:g})",
        "lost": "요약에 담기지 않은 사실: {facts}",
        "edited": "사용자가 고친 요약",
    },
    "en": {
        "untitled": "Untitled conversation",
        "head": "{created} to {updated} · {turns} turns · compression rate {rate:g}",
        "turn": "Turn {number} · {moment}",
        "user": "User",
        "answer": "Answer",
        "thought": "Thought for {seconds} s",
        "tool": "Tool {name}({arguments})",
        "failed_tool": "Tool {name}({arguments}) · failed",
        "stopped": "Stopped here by the user.",
        "cut_off": "Cut off at the limit of tokens.",
        "running": "Still answering, or cut off.",
        "waiting": "Waits for an answer of the user.",
        "failed": "No answer: {error}",
        "up": "👍 helpful",
        "down": "👎 not helpful",
        "summaries": "Appendix: summaries",
        "summary": "Turns {turns} · {before:,} → {after:,} characters (rate {rate:g})",
        "lost": "Facts that the summary does not hold: {facts}",
        "edited": "Edited by the user",
    },
}


def render_transcript(
    store: Store,
    session_id: str,
    language: Language,
    zone: tzinfo | None = None,
    told: Callable[[dict[str, Any]], str] = lambda error: str(error.get("message", "")),
    images: Container[str] | None = None,
) -> str:
    """Returns the turns of the session's path as Markdown, with times in ``zone`` (None: the zone of this machine).

    ``told`` words a turn's stored error for the reader. ``images``: for a web page, on which tags are text, the keys of
    the images that it has; None for a Markdown file, in which images stand by their names. Raises ``SessionUnknown``.
    """
    session, words = store.session(session_id), _WORDS[language]
    title = collapse_spaces(session.title) or words["untitled"]
    parts = [f"# {title}", _render_transcript_head(session, words, zone)]
    for first in range(session.path[0][1], session.turn_count + 1, _PAGE):  # a greeting is turn 0
        for turn in store.turns_between(session_id, first, first + _PAGE - 1):
            parts += _render_transcript_turn(turn, words, zone, told, images)
    summaries = [row for row in store.ledger.summaries(session_id, limit=10_000) if row.record]
    if summaries:
        parts += ["---", f"## {words['summaries']}"]
        for summary in summaries:
            parts += _render_transcript_summary(summary, words)
    return clean_text("\n\n".join(parts)) + "\n"


def _render_transcript_head(session: Session, words: dict[str, str], zone: tzinfo | None) -> str:
    created, updated = _format_moment(session.created, zone), _format_moment(session.updated, zone)
    return words["head"].format(
        created=created, updated=updated, turns=session.turn_count, rate=session.compression_rate
    )


def _render_transcript_turn(
    turn: TurnRow,
    words: dict[str, str],
    zone: tzinfo | None,
    told: Callable[[dict[str, Any]], str],
    images: Container[str] | None,
) -> list[str]:
    parts = [f"## {words['turn'].format(number=turn.number, moment=_format_moment(turn.started, zone))}"]
    parts += [f"**{words['user']}**", _close_code_block(turn.question, images is None)] if turn.number else []
    parts += (
        [_render_quotation("  \n".join(_render_file(item, images or ()) for item in turn.files))] if turn.files else []
    )
    if turn.reasoning:
        seconds = round(float(turn.reasoning.get("seconds") or 0.0))
        parts.append(
            _render_quotation(f"💭 {words['thought'].format(seconds=seconds)}\n\n{turn.reasoning.get('text') or ''}")
        )
    parts += [_render_tool_step(item, words) for item in turn.steps]
    if turn.answer:
        parts += [f"**{words['answer']}**", _close_code_block(turn.answer, images is None)]
    if turn.status != "done":
        error = collapse_spaces(told(turn.error)) if turn.error else ""
        parts.append(_render_quotation(words[turn.status].format(error=error)))
    if turn.answer and (turn.usage or {}).get("cut_at"):
        parts.append(_render_quotation(words["cut_off"]))
    if turn.feedback:
        thumb = words.get(str(turn.feedback.get("thumb")), "")
        parts.append(
            _render_quotation(" · ".join(filter(None, (thumb, collapse_spaces(str(turn.feedback.get("note") or ""))))))
        )
    return parts


def _render_file(file: Mapping[str, str], drawn: Container[str]) -> str:
    name, key = collapse_spaces(file["name"]), file.get("key", "")
    plain = "".join(letter for letter in name if letter not in "[]\\")
    return f"![{plain}]({key})" if key in drawn else f"📎 {name}"


def _render_tool_step(step: dict[str, Any], words: dict[str, str]) -> str:
    """Returns a tool call and its result as a Markdown quotation."""
    values = step.get("arguments") or {}
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    heading = words["tool" if step.get("ok", True) else "failed_tool"].format(
        name=step.get("name"), arguments=arguments
    )
    cited = "\n".join(
        f"[{passage['number']}] {collapse_spaces(str(passage['label']))}" for passage in _list_cited_passages(step)
    )
    return _render_quotation(f"🔧 {heading}\n\n{cited or step.get('result', '')}")


def _list_cited_passages(step: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the passages that a document search found: their numbers and places tell people more than their text."""
    return list((step.get("artifact") or {}).get("passages") or ())


def _render_transcript_summary(summary: SummaryRow, words: dict[str, str]) -> list[str]:
    record = summary.record or {}
    turns = f"{summary.turns[0]}–{summary.turns[-1]}"
    sizes = {"before": record.get("original_chars", 0), "after": record.get("summary_chars", 0)}
    parts = [
        f"### {words['summary'].format(turns=turns, rate=summary.rate, **sizes)}",
        _close_code_block(str(record.get("summary", "")), has_tags=True),
    ]
    if summary.origin == "edited":
        parts.append(_render_quotation(words["edited"]))
    if summary.lost:
        parts.append(_render_quotation(words["lost"].format(facts=", ".join(map(collapse_spaces, summary.lost)))))
    return parts


def _close_code_block(text: str, has_tags: bool) -> str:
    """Closes the last code block of the text, so that Markdown does not show the following text as code. ``has_tags``:
    whether whoever shows it takes tags for tags; a code block can begin inside one."""
    last = next(reversed(_get_parser(has_tags).parse(f"{text}\n\n{_AFTER}")), None)
    is_open = last is not None and last.type == "fence" and _AFTER in last.content
    return f"{text.rstrip()}\n{last.markup}" if last is not None and is_open else text


@cache
def _get_parser(has_tags: bool) -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": has_tags})


def _format_moment(seconds: float, zone: tzinfo | None) -> str:
    return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M")


def _render_quotation(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
