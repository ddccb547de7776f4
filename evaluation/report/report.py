"""One HTML file about an evaluation. It opens offline: style and drawings are inside, and nothing is loaded.

Everything that comes from a scenario or from a model is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from evaluation.judge.calibration import Standing
from evaluation.judge.criterion import CRITERIA, TOP
from evaluation.probe import Probe
from evaluation.report.table import (
    MARKS,
    NONE,
    Word,
    find_worst_standing,
    render_dollars,
    render_figure,
    render_form_label,
)
from evaluation.result import EvaluationResult, PlayedScenario, ResultSummary, by_form, by_place, sum_evaluation_cost
from evaluation.run import EvaluationOutcome
from evaluation.scenario import Scenario
from text.language import Language

_STYLE = (Path(__file__).parent / "report.css").read_text("utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser itself refuses to load anything."""
_SHARES = ("recall", "stale", "right")


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """What a report is written from. ``standing``: the judge's calibration by language. ``word``: the sentences of the
    reader's language, ``language``. ``when``: date and time of the evaluation, as text."""

    outcome: EvaluationOutcome
    standing: Mapping[Language, Standing]
    word: Word
    language: Language
    when: str

    def html(self) -> str:
        """Returns the whole file."""
        title = escape(self.word("eval.title"))
        parts = [
            f"<h1>{title}</h1>",
            self._facts(),
            self._judge(),
            self._by_form(),
            self._by_scenario(),
            self._disagreements(),
            self._details(),
        ]
        return (
            f'<!doctype html>\n<html lang="{self.language}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(part for part in parts if part)
            + "\n</main>\n</body>\n</html>\n"
        )

    def _facts(self) -> str:
        plan, outcome, word = self.outcome.plan, self.outcome, self.word
        seconds, usd = sum_evaluation_cost(outcome.plays, outcome.results)
        facts = {
            "when": self.when,
            "model": f"{plan.model} ({plan.profile})",
            "side": f"{plan.side} ({plan.side_profile})",
            "scenarios": f"{len(plan.scenarios)}",
            "rates": ", ".join(f"{rate:g}" for rate in plan.rates),
            "runs": f"{plan.runs}",
            "results": word("eval.results_of", there=len(outcome.results), wanted=len(plan.keys)),
            "spent": word("eval.spent", seconds=f"{seconds:,.0f}", usd=render_dollars(usd)),
        }
        rows = [f"<dt>{escape(word(f'eval.fact.{name}'))}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()]
        return f"<dl>{''.join(rows)}</dl>" + (self._note("eval.is_stopped", "bad") if outcome.stopped else "")

    def _judge(self) -> str:
        """Says whether a judge was asked, and how it did in its calibration in every language."""
        if not self.outcome.plan.judged:
            return self._note("eval.not_judged")
        notes = [
            f'<p class="{"good" if one == "passed" else "bad"}">'
            f"{escape(self.word(f'eval.standing.{one}', which=self.word(f'eval.language.{language}')))}</p>"
            for language, one in self.standing.items()
        ]
        return "".join(notes) + self._note("eval.marks")

    def _by_form(self) -> str:
        groups = by_form(self.outcome.results)
        rows = [
            ([f"{rate:g}", self.word(f"eval.form.{form}")], figures, find_worst_standing(self.standing))
            for (rate, form), figures in groups.items()
        ]
        return self._section("by_form", ["rate", "form"], rows)

    def _by_scenario(self) -> str:
        languages = {scenario.name: scenario.language for scenario in self.outcome.plan.scenarios}
        rows = [
            (
                [scenario, f"{rate:g}", render_form_label(self.word, form, figures)],
                figures,
                self.standing.get(languages[scenario], "unknown"),
            )
            for (scenario, rate, form), figures in by_place(self.outcome.results).items()
        ]
        return self._section("by_scenario", ["scenario", "rate", "form"], rows)

    def _section(
        self, name: str, heads: Sequence[str], rows: Sequence[tuple[list[str], ResultSummary, Standing]]
    ) -> str:
        plan = self.outcome.plan
        shares = ["recall", "stale", "leaks"]
        judged = [*CRITERIA, "overall", "spread"] if plan.judged else []
        columns = [*shares, *judged, *(["right"] if plan.live else []), "unscored", "tokens", "seconds", "usd"]
        head = "".join(f'<th scope="col">{self._head(one)}</th>' for one in heads)
        head += "".join(f'<th scope="col" class="number">{self._head(one)}</th>' for one in columns)
        body = "".join(
            "<tr>"
            + "".join(f'<th scope="row">{escape(label)}</th>' for label in labels)
            + "".join(self._cell(one, figures, standing) for one in columns)
            + "</tr>\n"
            for labels, figures, standing in rows
        )
        title, about = escape(self.word(f"eval.section.{name}")), escape(self.word(f"eval.section.{name}.about"))
        return (
            f'<h2>{title}</h2>\n<p class="soft">{about}</p>\n<div class="wide" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        )

    def _head(self, column: str) -> str:
        return escape(self.word(f"eval.column.{column}"))

    def _cell(self, column: str, figures: ResultSummary, standing: Standing) -> str:
        mark = MARKS[standing]
        if column in CRITERIA:
            score = figures.scores.get(column)
            text = NONE if score is None else f"{score:.1f}{f' {mark}' if mark else ''}"
            share = None if score is None else score / TOP
        else:
            text, share = render_figure(column, figures, mark), self._share(column, figures)
        drawn = "" if share is None else render_share_bar(share, judged=column in CRITERIA or column == "overall")
        return f'<td class="number">{escape(text)}{drawn}</td>'

    def _share(self, column: str, figures: ResultSummary) -> float | None:
        """Returns how much of its bar a figure fills; None for a figure without a highest value."""
        if column in _SHARES:
            share: float | None = getattr(figures, column)
            return share
        return figures.overall / 100 if column == "overall" and figures.overall is not None else None

    def _disagreements(self) -> str:
        """Lists the results of which judge and probes say the opposite."""
        if not self.outcome.plan.judged:
            return ""
        rows = [
            f"<li>{escape(self._place(result))}: {escape(self._difference(result))}</li>"
            for result in self.outcome.results
            if result.disagrees
        ]
        shown = f"<ul>{''.join(rows)}</ul>" if rows else self._note("eval.agrees")
        return f"<h2>{escape(self.word('eval.section.disagreements'))}</h2>{shown}"

    def _difference(self, result: EvaluationResult) -> str:
        mark = MARKS[self.standing.get(result.language, "unknown")]
        text = self.word("eval.disagrees", overall=f"{result.overall:.0f}", recall=f"{result.recall:.0%}")
        return f"{text} {mark}".strip()

    def _place(self, result: EvaluationResult) -> str:
        name = self.word(f"eval.form.{result.form}")
        run = self.word("eval.run", run=result.run) if self.outcome.plan.runs > 1 else ""
        return " · ".join(filter(None, [result.scenario, f"{result.rate:g}", name, run]))

    def _details(self) -> str:
        plays = {(play.scenario, play.rate): play for play in self.outcome.plays}
        shown = [
            self._scenario(scenario, rate, plays.get((scenario.name, rate)))
            for scenario, rate in self.outcome.plan.units
        ]
        return f"<h2>{escape(self.word('eval.section.details'))}</h2>\n" + "\n".join(shown)

    def _scenario(self, scenario: Scenario, rate: float, play: PlayedScenario | None) -> str:
        results = [one for one in self.outcome.results if (one.scenario, one.rate) == (scenario.name, rate)]
        asked = escape(self.word("eval.asked", turn=scenario.query.turn, query=scenario.query.text))
        forms = "".join(self._result(result, play) for result in results)
        return (
            f"<details><summary>{escape(scenario.name)} · {rate:g} · "
            f'<span class="soft">{escape(scenario.about)}</span></summary><div><p>{asked}</p>{forms}</div></details>'
        )

    def _result(self, result: EvaluationResult, play: PlayedScenario | None) -> str:
        parts = [f"<h3>{escape(self._place(result))}</h3>"]
        if result.failed:
            return "".join([*parts, self._note("eval.failed", "bad", code=result.failed)])
        first = result.run == 1  # what a form holds is the same in every run
        parts += [self._probes(result.probes) if first else "", self._rating(result), self._answer(result)]
        if play is not None and first and result.form in play.contexts:
            text = play.contexts[result.form].text
            parts.append(f"<pre>{escape(text) or escape(self.word('eval.holds_nothing'))}</pre>")
        return "".join(parts)

    def _probes(self, probes: Iterable[Probe]) -> str:
        rows = [
            f'<li><span class="{"good" if item.ok else "bad"}">{"✓" if item.ok else "✗"}</span> '
            f"{escape(self.word(f'eval.probe.{item.kind}', value=item.value, about=item.about))}</li>"
            for item in probes
        ]
        return f"<ul>{''.join(rows)}</ul>"

    def _rating(self, result: EvaluationResult) -> str:
        rating = result.rating
        if rating is None:
            return ""
        if rating.status != "scored":
            return self._note(f"eval.rating.{rating.status}", why=rating.why)
        mark = MARKS[self.standing.get(result.language, "unknown")]
        rows = [
            f"<li>{self._head(name)} {rating.scores[name]:g}{f' {mark}' if mark else ''}: "
            f"{escape(rating.reasons.get(name, ''))}</li>"
            for name in CRITERIA
        ]
        stated = self._note("eval.stated", stated=f"{rating.stated:g}") if rating.differs else ""
        lists = self._render_text_list("helpful", rating.helpful) + self._render_text_list("missing", rating.missing)
        return f"<p>{escape(rating.summary)}</p><ul>{''.join(rows)}</ul>{stated}{lists}"

    def _render_text_list(self, name: str, texts: Sequence[str]) -> str:
        if not texts:
            return ""
        rows = "".join(f"<li>{escape(text)}</li>" for text in texts)
        return f"<p>{escape(self.word(f'eval.{name}'))}</p><ul>{rows}</ul>"

    def _answer(self, result: EvaluationResult) -> str:
        answer = result.answer
        if answer is None:
            return ""
        if answer.why:
            return self._note("eval.unanswered", "bad", code=answer.why)
        right = NONE if answer.right is None else f"{answer.right:.0%}"
        return f"<p>{escape(self.word('eval.answered', right=right))}</p><pre>{escape(answer.text)}</pre>"

    def _note(self, key: str, kind: str = "soft", **values: object) -> str:
        return f'<p class="{kind}">{escape(self.word(key, **values))}</p>'


def render_share_bar(share: float, *, judged: bool) -> str:
    """Returns a drawing of a share from 0 to 1; the figure itself stands beside it as text."""
    width = round(100 * min(max(share, 0.0), 1.0), 1)
    kind = "value judged" if judged else "value"
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="ground" width="100" height="8"/><rect class="{kind}" width="{width}" height="8"/></svg>'
    )
