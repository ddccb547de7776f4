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

from errors import ModelBroken
from model.cache import least, marked, takes_breakpoints
from model.call.token import estimate
from model.raw import Raw, RawAnswer
from store.world.record import Node, World
from world.engine import Begun, Engine, Prompted
from world.placement import Deep, Placed, Role, find_deepest, parts, placed
from world.placement import tokens as count_tokens
from world.receipt import Counted, counted, receipt, shown
from world.reply import CALLS, Reply, read_object, with_receipt

log = logging.getLogger("gieok.world")
Json = dict[str, Any]


class Refused(Exception):
    """The error of a request that the model's server did not take. The answer of the server is the caller's to pass
    on."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.content = status, headers, content


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a turn. ``node``: None when nothing was stored: an answer that calls the client's tools, or a call
    that was stopped before its first word."""

    node: Node | None
    receipt: Json
    tokens: Counted


class Turn:
    """A turn that runs once. ``body``: the client's request; ``counted``: whether the client of a stream wants its
    tokens; ``ends``: says of a growing answer where it is to end; None: nowhere yet. ``cut``: the same of an answer
    that its limit has cut off."""

    def __init__(
        self,
        engine: Engine,
        raw: Raw,
        begun: Begun,
        body: Json,
        *,
        counted: bool,
        ends: Callable[[str], int | None] = lambda _: None,
        cut: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._engine, self._raw, self.begun = engine, raw, begun
        self._prompted: Prompted = engine.prompt(begun, find_deepest(body.get("messages") or []))
        self._body, self._counted, self._ends, self._cut = body, counted, ends, cut
        self._end: int | None = None
        self.late = self._prompted.late
        self.reply = Reply(counted)

    def run(
        self, stop: threading.Event, begin: Callable[[Begun, RawAnswer], object], emit: Callable[[str], object]
    ) -> Ended:
        """Asks the model and passes the answer on: ``begin`` hears that it begins, ``emit`` its pieces: server-sent
        events, or the JSON of a whole answer.

        A failed turn writes nothing. Raises ``Refused``, ``UpstreamError``, and ``RawStopped`` when the call was
        stopped before its answer began.
        """
        given = self._placed()
        request = self._request(given)
        with self._raw.ask(request, stop) as answer:
            if answer.status >= 300:
                raise Refused(answer.status, answer.headers, answer.whole())
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

    # --- the request ----------------------------------------------------------------------------

    def _placed(self) -> Placed:
        role: Role = "user" if self._marks else "system"
        told = self._prompted
        deep = [Deep(*one) for one in told.deep]
        return placed(self._body.get("messages") or [], told.prefix, told.changing, role, told.last, deep)

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
        return marked(request, given.steady, count=estimate, minimum=least(str(request.get("model", ""))))

    # --- the answer -----------------------------------------------------------------------------

    def _settle(self) -> World | None:
        """Creates the world of a new story, now that its first turn is being answered; returns it if it is new."""
        if self.begun.world is not None:
            return None
        world = self._engine.create(self.begun)
        self.begun = replace(self.begun, world=world)
        return world

    def _heard(self, answer: RawAnswer, given: Placed, stop: threading.Event, emit: Callable[[str], object]) -> Ended:
        if self._body.get("stream"):
            for event in answer.events():
                if piece := self.reply.event(event):
                    emit(piece)
                    self._end = self._ends(self.reply.shown)
                if self._end is not None:  # the model would go on until its tokens are used up
                    break
            ended = self._ended(given, stop)
            emit(self.reply.end(shown(ended.receipt)))
            return self._worked_off(ended, given)
        content = answer.whole()
        body = read_object(content)
        if body is None and not stop.is_set():
            raise ModelBroken(url=self._raw.url, reason="it sent something that is not JSON", reason_code="json")
        plain = self.reply.whole(body or {})
        ended = self._ended(given, stop)
        emit(json.dumps(with_receipt(plain, shown(ended.receipt)), ensure_ascii=False, separators=(",", ":")))
        return self._worked_off(ended, given)

    def _worked_off(self, ended: Ended, given: Placed) -> Ended:
        """Works the turn off, now that its reader has all of it; the next request would do so if it came first."""
        if ended.node is not None:
            self._engine.work_off(ended.node)
            self._engine.read_ahead(ended.node, given)
        return ended

    def _ended(self, given: Placed, stop: threading.Event) -> Ended:
        """Stores the turn, if it is one. Raises ``ModelBroken`` for an answer without an end."""
        reply, stopped = self.reply, stop.is_set()
        whole = (bool(reply.reason or reply.ended) or self._end is not None) and not reply.failed
        if not whole and not stopped:
            if reply.failed:
                return Ended(None, {}, Counted(0, 0, 0, 0))
            raise ModelBroken(url=self._raw.url, reason="the answer has no end", reason_code="no_end")
        tokens = self._tokens(given)
        paid = self._receipt(tokens, given)
        node = None
        if self._end is None and reply.reason == "length":
            self._end = self._cut(reply.shown)
        raw, seen = (reply.raw, reply.shown) if self._end is None else (reply.shown[: self._end].rstrip(),) * 2
        if seen.strip() and reply.reason not in CALLS:
            node = self._engine.keep(self.begun, raw, seen, paid, self._prompted.report, stopped=not whole)
        return Ended(node, paid, tokens)

    def _tokens(self, given: Placed) -> Counted:
        known = counted(self.reply.usage, self.reply.timings)
        return known or Counted(count_tokens(given.messages), 0, 0, estimate(self.reply.raw), exact=False)

    def _receipt(self, tokens: Counted, given: Placed) -> Json:
        told = parts(self._body, given, self.begun.number, len(self.begun.told.turns))
        model = str(self._body.get("model") or self._raw.model)
        deep = count_tokens(given.messages[given.steady : given.end]) if given.deep else 0
        paid = {**receipt(tokens, told, self._prompted.before, model, self._raw.url, deep), "late": self.late}
        log.info(
            "world turn %d: %d tokens, %d cached, %d written, %d answered, late %d",
            *(self.begun.number, tokens.prompt, tokens.cached, tokens.written, tokens.answer, self.late),
        )
        return paid


__all__ = ["Ended", "Refused", "Turn"]
