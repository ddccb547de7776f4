"""One turn of a story: the client's request with the world's texts in it, the call upstream, the answer that is stored.

The door and the page only differ in what they do with the pieces.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from errors import EmptyAnswer, GieokError, ModelBroken, format_error_trace
from model.cache import find_least_tokens, mark_breakpoints, takes_breakpoints
from model.call.fault import build_refusal_error
from model.call.token import estimate_tokens
from model.raw import Raw, RawAnswer
from store.world.record import StoryNode, World
from world.engine import Prompted, RecognisedRequest, WorldEngine
from world.prompt.placement import (
    Deep,
    Placed,
    Role,
    Standing,
    find_deepest,
    find_turn_starts,
    list_receipt_parts,
    place_world_texts,
)
from world.prompt.placement import estimate_message_tokens as count_tokens
from world.prompt.receipt import Counted, build_receipt, read_counted_tokens, strip_receipt_parts
from world.turn.reply import CALLS, WorldReply, read_object, with_receipt

log = logging.getLogger("gieok.world")
Json = dict[str, Any]


class UpstreamRefusal(Exception):
    """The error of a request that the model's server did not take. The answer of the server is the caller's to pass
    on."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.content = status, headers, content


@dataclass(frozen=True, slots=True)
class StoryTurnEnd:
    """The end of a turn. ``node``: None when nothing was stored: an answer that calls the client's tools, a call that
    was stopped before its first word, or a ``failure`` that the client hears of by the answer itself."""

    node: StoryNode | None
    receipt: Json
    tokens: Counted
    failure: GieokError | None = None


class StoryTurn:
    """A turn that runs once. ``body``: the client's request; ``read_counted_tokens``: whether the client of a stream
    wants its tokens; ``ends``: says of a growing answer where it is to end; None: nowhere yet. ``cut``: the same of an
    answer that its limit has cut off."""

    def __init__(
        self,
        engine: WorldEngine,
        raw: Raw,
        begun: RecognisedRequest,
        body: Json,
        *,
        counted: bool,
        ends: Callable[[str], int | None] = lambda _: None,
        cut: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._engine, self._raw, self.begun = engine, raw, begun
        messages = body.get("messages") or []
        self._starts = find_turn_starts(messages)
        # a story told in one message has no places for its turns
        stands = len(self._starts) == len(begun.told_story.turns) + 1
        self._prompted: Prompted = engine.prompt(begun, find_deepest(messages), stands=stands)
        self._body, self._counted, self._ends, self._cut = body, counted, ends, cut
        self._end: int | None = None
        self.late = self._prompted.late
        self.reply = WorldReply(counted)

    def run(
        self,
        stop: threading.Event,
        begin: Callable[[RecognisedRequest, RawAnswer], object],
        emit: Callable[[str], object],
    ) -> StoryTurnEnd:
        """Asks the model and passes the answer on: ``begin`` hears that it begins, ``emit`` its pieces: server-sent
        events, or the JSON of a whole answer.

        A failed turn is the caller's to write (``WorldEngine.keep_failed``). Raises ``UpstreamRefusal``,
        ``UpstreamError``, and ``RawStopped`` when the call was stopped before its answer began.
        """
        given = self._place_texts()
        request = self._request(given)
        with self._raw.ask(request, stop) as answer:
            if answer.status >= 300:
                raise UpstreamRefusal(answer.status, answer.headers, answer.whole())
            created = self._settle()
            stored = False
            try:
                begin(self.begun, answer)
                ended = self._heard(answer, given, stop, emit)
                stored = ended.node is not None
                return ended
            finally:
                if created is not None and not stored:
                    self._engine.store.worlds.delete(created.id)

    def name_refusal(self, refusal: UpstreamRefusal) -> GieokError:
        """Returns our own error for a request that the model's server did not take."""
        answer = (refusal.status, refusal.headers, refusal.content)
        return build_refusal_error(*answer, url=self._raw.url, model=self._model)

    @property
    def _model(self) -> str:
        return str(self._body.get("model") or self._raw.model)

    # --- the request ----------------------------------------------------------------------------

    def _place_texts(self) -> Placed:
        role: Role = "user" if self._marks else "system"
        told = self._prompted
        deep = [Deep(*one) for one in told.deep]
        starts = dict(zip(self.begun.turn_numbers, self._starts, strict=False))
        standing = [Standing(starts[turn], turn, text) for turn, text in told.standing if turn in starts]
        messages = self._body.get("messages") or []
        return place_world_texts(messages, told.prefix, told.changing, role, told.last, deep, standing)

    @property
    def _marks(self) -> bool:
        return takes_breakpoints(self._raw.url, self._engine.settings.world_cache_control)

    def _request(self, given: Placed) -> Json:
        request = {**self._body, "messages": given.messages}
        if self._body.get("stream"):
            options = self._body.get("stream_options")
            request["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        if not self._marks:
            return request
        return mark_breakpoints(
            request, given.steady, count=estimate_tokens, minimum=find_least_tokens(str(request.get("model", "")))
        )

    # --- the answer -----------------------------------------------------------------------------

    def _settle(self) -> World | None:
        """Creates the world of a new story, now that its first turn is being answered; returns it if it is new."""
        if self.begun.world is not None:
            return None
        world = self._engine.create(self.begun)
        self.begun = replace(self.begun, world=world)
        return world

    def _heard(
        self, answer: RawAnswer, given: Placed, stop: threading.Event, emit: Callable[[str], object]
    ) -> StoryTurnEnd:
        if self._body.get("stream"):
            for event in answer.events():
                if piece := self.reply.event(event):
                    emit(piece)
                    self._end = self._ends(self.reply.visible_text)
                if self._end is not None:  # the model would go on until its tokens are used up
                    break
            ended = self._store_turn(given, stop)
            if ended.node is not None and not stop.is_set():  # the end that goes out now is the client's
                self._engine.settle_waiting(ended.node, self.begun)
            return self._close_turn(ended, given, lambda: emit(self.reply.end(strip_receipt_parts(ended.receipt))))
        content = answer.whole()
        body = read_object(content)
        if body is None and not stop.is_set():
            raise ModelBroken(url=self._raw.url, reason="it sent something that is not JSON", reason_code="json")
        plain = self.reply.whole(body or {})
        ended = self._store_turn(given, stop)
        shown = with_receipt(plain, strip_receipt_parts(ended.receipt))
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        return self._close_turn(ended, given, lambda: emit(text))

    def _close_turn(self, ended: StoryTurnEnd, given: Placed, tell: Callable[[], object]) -> StoryTurnEnd:
        """Gives the reader the end of the answer and works the turn off; the next request would do so if it came first.
        A turn that is stored stays an answered one, whatever fails behind it."""
        node = ended.node
        if node is None:
            tell()
            return ended
        behind = (tell, lambda: self._engine.work_off(node), lambda: self._engine.read_ahead(node, given))
        for step in behind:
            try:
                step()
            except Exception as error:
                log.error("what follows turn %d failed: %s", node.turn, format_error_trace(error))
        return ended

    def _store_turn(self, given: Placed, stop: threading.Event) -> StoryTurnEnd:
        """Stores the turn, if it is one. Raises ``ModelBroken`` for an answer without an end."""
        reply, stopped = self.reply, stop.is_set()
        whole = (bool(reply.reason or reply.ended) or self._end is not None) and not reply.failed
        if not whole and not stopped:
            if reply.failed:
                told = ModelBroken(url=self._raw.url, reason="it reported an error", reason_code="error")
                return StoryTurnEnd(None, {}, Counted(0, 0, 0, 0), told)
            raise ModelBroken(url=self._raw.url, reason="the answer has no end", reason_code="no_end")
        tokens = self._tokens(given)
        paid = self._receipt(tokens, given)
        node = None
        if self._end is None and reply.reason == "length":
            self._end = self._cut(reply.visible_text)
        raw, seen = (
            (reply.raw, reply.visible_text) if self._end is None else (reply.visible_text[: self._end].rstrip(),) * 2
        )
        if seen.strip() and reply.reason not in CALLS:
            node = self._engine.keep(self.begun, raw, seen, paid, self._prompted.report, not whole, self._model)
        is_empty = node is None and not stopped and reply.reason not in CALLS
        return StoryTurnEnd(node, paid, tokens, EmptyAnswer() if is_empty else None)

    def _tokens(self, given: Placed) -> Counted:
        known = read_counted_tokens(self.reply.usage, self.reply.timings)
        return known or Counted(count_tokens(given.messages), 0, 0, estimate_tokens(self.reply.raw), exact=False)

    def _receipt(self, tokens: Counted, given: Placed) -> Json:
        told = list_receipt_parts(self._body, given, self.begun.turn_numbers)
        deep = count_tokens(given.messages[given.steady : given.end]) if given.deep else 0
        paid = {
            **build_receipt(tokens, told, self._prompted.before, self._model, self._raw.url, deep),
            "late": self.late,
        }
        if standing := self._list_standing():
            paid["standing"] = standing
        log.info(
            "world turn %d: %d tokens, %d cached, %d written, %d answered, late %d",
            *(self.begun.number, tokens.prompt, tokens.cached, tokens.written, tokens.answer, self.late),
        )
        return paid

    def _list_standing(self) -> dict[str, list[str]]:
        """Returns which entries of the lorebook stand with which turn."""
        found: dict[str, list[str]] = {}
        for _, turn, _, keyword in self._prompted.report["lore"].get("standing", {}).get("entries", ()):
            found.setdefault(str(turn), []).append(keyword)
        return found


__all__ = ["StoryTurn", "StoryTurnEnd", "UpstreamRefusal"]
