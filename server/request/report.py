"""What an answer was given, for a client that asks for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from graph.context.report import ContextReport
from graph.turn.event import ContextBuilt, Done, Event, SummaryMade, Thought, ToolFinished


@dataclass
class AnswerReport:
    """What an answer was given, for a client that asks: the report of its prompt, the passages it cites, and the
    summaries that were made on the way. ``thought``: what the model thought before it."""

    context: ContextReport | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
    summaries: list[dict[str, Any]] = field(default_factory=list)
    thought: str = ""

    def hear(self, event: Event) -> None:
        """Takes what belongs into the report from an event of the turn."""
        match event:
            case Thought(text):
                self.thought += text
            case ContextBuilt(report):
                self.context = report
            case SummaryMade(turns=turns, record=record, lost=lost) if record is not None:
                made = {"turns": list(turns), "summary": record["summary"], "lost": list(lost)}
                self.summaries.append(made)
            case ToolFinished(artifact=artifact) if artifact and artifact.get("passages"):
                names = ("number", "label", "text")
                self.citations += [{name: passage.get(name) for name in names} for passage in artifact["passages"]]

    def plain(self, session: str, turn: int, done: Done) -> dict[str, Any]:
        """Returns the report as plain data, with the conversation and the turn."""
        context = self.context.plain() if self.context is not None else None
        made = {"context": context, "citations": self.citations, "summaries": self.summaries}
        return {"session": session, "turn": turn, "usage": asdict(done.usage), "seconds": done.seconds, **made}
