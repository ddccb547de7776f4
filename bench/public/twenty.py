"""Twenty short conversations between which a user's lasting facts are told in passing: are they there in a new one?

Of the questions, whose answer is in the prompt; of messages about something else, how many lines of what was said
before stand in their prompts all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.public.dataset import own
from bench.public.share import share_words
from bench.public.stored import StoredTalk, small_models, store_talk, strong_models
from model.modelset import ModelSet

FOLDER = own.FOLDER / "twenty"


@dataclass(frozen=True, slots=True)
class TwentyResult:
    """``answers``: of ``questions``, how many have all words of their answer in the prompt; ``noise``: lines of what
    was said before in the prompt of a message about something else, on average."""

    language: str
    profile: str
    questions: int
    answers: int
    noise: float


def play_twenty(folder: Path = FOLDER) -> Iterator[TwentyResult]:
    """Yields the result of each language and profile; no model is called."""
    for dataset in own.load_own_sets(folder):
        for conversation in dataset.conversations:
            elsewhere = (folder / dataset.name / conversation.name / "elsewhere.txt").read_text("utf-8").splitlines()
            with store_talk(conversation) as talk:
                for models in (strong_models(), small_models()):
                    answers = sum(
                        share_words(question.answers, _read_told_lines(talk, question.text, models)) == 1.0
                        for question in conversation.questions
                    )
                    noise = fmean(len(_read_told_lines(talk, text, models).splitlines()) for text in elsewhere if text)
                    yield TwentyResult(
                        dataset.name, models.profile.name, len(conversation.questions), answers, round(noise, 2)
                    )


def _read_told_lines(talk: StoredTalk, query: str, models: ModelSet) -> str:
    """Returns what the prompt for a query tells of earlier conversations."""
    return "\n".join(talk.told_lines(query, models, talk.conversation.asked_at)[1])
