"""What chat programs do to a history before they send it: the habits that ``bench habits`` plays.

A habit is up to three functions. ``send`` turns the messages of the chat into those of the request; ``show`` turns an
answer into the text that the program keeps of it; ``change`` lets the user edit, delete or swipe before a turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

Said = tuple[str, str]
"""A message: its role and its text."""
NOTE = "[Author's note: keep the tone dark, and let nobody explain the magic.]"
LORE = "The Order of the Lantern keeps every ford of the river.\nIts members wear grey and never give their names."
CARD = "You tell the story of a wanderer who crosses a drowned country on foot."
PLACEHOLDER = "[Start a new chat]"
"""What SillyTavern's strict post-processing puts first (``src/prompt-converters.js``, PROMPT_PLACEHOLDER)."""


@dataclass
class Row:
    """A turn as the client shows it. ``item``: what the player gains in it; ``said``: the answer as the model gave it,
    empty where the user or another model wrote it."""

    question: str
    answer: str
    item: str = ""
    said: str = ""


@dataclass
class Chat:
    """What the client shows. ``gone``: items of answers that it shows no more; ``again``: the question whose answer is
    asked for anew with the next request; ``language``: of its texts; ``late``: turns that were changed just now;
    ``fresh``: what was in them before."""

    language: str
    rows: list[Row] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    again: str = ""
    late: list[Row] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)

    def messages(self, question: str) -> list[Said]:
        said = [(role, text) for row in self.rows for role, text in (("user", row.question), ("assistant", row.answer))]
        return [*(one for one in said if one[1]), ("user", question)]


@dataclass(frozen=True)
class Habit:
    """``think``: the model thinks aloud; ``cut``: its answers end in the middle of a sentence; ``hides``: what is not
    sent is still there; ``kind``: what it is played with, empty for both; ``before``: so many turns are told
    with the first request; ``puts_first``: a text of the program's stands where a first turn may."""

    name: str
    send: Callable[[list[Said], int], list[Said]] = lambda said, _: said
    show: Callable[[str], str] = lambda answer: answer
    change: Callable[[Chat, int], None] = lambda _chat, _turn: None
    think: bool = False
    cut: bool = False
    hides: bool = False
    kind: str = ""
    before: int = 0
    puts_first: bool = False


# --- what is sent -----------------------------------------------------------------------------------


def keep_last(count: int) -> Callable[[list[Said], int], list[Said]]:
    return lambda said, _: said[-count:]


def put_at(depth: int, role: str, text: str) -> Callable[[list[Said], int], list[Said]]:
    """A note so many messages before the end, as SillyTavern injects it."""
    return lambda said, _: [*said[: max(0, len(said) - depth)], (role, text), *said[max(0, len(said) - depth) :]]


def merge(said: list[Said], joint: str = "\n\n") -> list[Said]:
    """Messages of one speaker in a row as one (``mergeMessages``)."""
    merged = list[Said]()
    for role, text in said:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}{joint}{text}")
        else:
            merged.append((role, text))
    return merged


def note_merged(said: list[Said], turn: int) -> list[Said]:
    return merge(put_at(4, "user", NOTE)(said, turn))


def strict(said: list[Said], turn: int) -> list[Said]:
    mixed = [("system", CARD), *put_at(4, "system", NOTE)(said, turn)]
    forced = [(("user" if at and role == "system" else role), text) for at, (role, text) in enumerate(mixed)]
    if forced[1][0] != "user":
        forced.insert(1, ("user", PLACEHOLDER))
    return merge(forced)


def single(said: list[Said], _: int) -> list[Said]:
    named = [f"{'Rowan' if role == 'user' else 'Narrator'}: {text}" for role, text in said]
    return [("user", "\n\n".join([CARD, *named]))]


def risu(said: list[Said], _: int) -> list[Said]:
    """RisuAI's request: what it says of itself, the card and the start of the chat as system messages, the note behind
    the history (``sendChat``)."""
    return [("system", "Write the next scene."), ("system", CARD), ("system", PLACEHOLDER), *said, ("system", NOTE)]


def squash(joint: str, text: str) -> Callable[[list[Said], int], list[Said]]:
    return lambda said, _: [*said[:-1], ("user", f"{said[-1][1]}{joint}{text}")]


def each(role: str, change: Callable[[str], str]) -> Callable[[list[Said], int], list[Said]]:
    """A change of every message of a role; ``*`` for all."""
    return lambda said, _: [(one, change(text) if role in (one, "*") else text) for one, text in said]


def vectors(said: list[Said], turn: int) -> list[Said]:
    """Chat vectorization: some old messages leave their place and come first in one block, others each time."""
    if len(said) < 9:
        return said
    taken = {(turn * 3 + step) % (len(said) - 7) for step in (0, 4)}
    block = "Past events:\n\n" + "\n\n".join(said[at][1] for at in sorted(taken))
    return [("system", block), *(one for at, one in enumerate(said) if at not in taken)]


def summarized(said: list[Said], _: int) -> list[Said]:
    return said if len(said) < 12 else [("user", "[Summary: they walked a long way.]"), *said[-9:]]


def hidden(said: list[Said], _: int) -> list[Said]:
    return [one for at, one in enumerate(said) if at not in (4, 5, 6, 7)] if len(said) > 10 else said


def rag(said: list[Said], _: int) -> list[Said]:
    """Open WebUI's template around the message (``DEFAULT_RAG_TEMPLATE``)."""
    template = (
        "### Task:\nRespond to the user query using the provided context, incorporating inline citations.\n\n"
        '<context>\n<source id="1">A page about ferries.</source>\n</context>\n\n'
    )
    return [*said[:-1], ("user", f"{template}{said[-1][1]}")]


# --- what is kept of an answer ----------------------------------------------------------------------


def without_thoughts(answer: str) -> str:
    return re.sub(r"<think>.*?</think>\s*", "", answer, flags=re.DOTALL)


def to_end_of_sentence(answer: str) -> str:
    """SillyTavern's ``trimToEndSentence``: everything after the last mark that ends a sentence goes."""
    at = max((answer.rfind(mark) for mark in '.!?*")}`]$。！？”）】’」_'), default=-1)
    return answer[: at + 1] if at >= 0 else answer


# --- what the user does -----------------------------------------------------------------------------


def at_turn(number: int, change: Callable[[Chat], None]) -> Callable[[Chat, int], None]:
    return lambda chat, turn: change(chat) if turn == number else None


def edit_question(at: int) -> Callable[[Chat], None]:
    def change(chat: Chat) -> None:
        chat.rows[at].question = "I wait until the rain has stopped. " + chat.rows[at].question

    return change


OTHER_ITEM = {"en": "amber comb", "ko": "호박 빗"}


def edit_item(at: int) -> Callable[[Chat], None]:
    """Another thing is given in the answer: a word that matters."""

    def change(chat: Chat) -> None:
        row = chat.rows[at]
        other = OTHER_ITEM[chat.language]
        chat.gone.append(row.item)
        chat.fresh.append(row.item)
        chat.late.append(row)
        row.answer, row.item, row.said = row.answer.replace(row.item, other), other, ""

    return change


def edit_typo(at: int) -> Callable[[Chat], None]:
    def change(chat: Chat) -> None:
        row = chat.rows[at]
        row.answer = row.answer.replace("without a word", "without a wrod").replace("말없이", "말업이")

    return change


def delete(at: int, side: str) -> Callable[[Chat], None]:
    def change(chat: Chat) -> None:
        if side == "turn":
            chat.rows.pop(at)
        else:
            setattr(chat.rows[at], side, "")
            chat.rows[at].said = "" if side == "answer" else chat.rows[at].said

    return change


def swipe(chat: Chat, turn: int) -> None:
    """Every third answer is asked for anew."""
    if turn % 3 == 0:
        row = chat.rows.pop()
        chat.gone.append(row.item)
        chat.again = row.question


def rewrite_last(chat: Chat, turn: int) -> None:
    """The last answer is replaced by that of another model, every fourth turn."""
    if turn % 4 == 0:
        row = chat.rows[-1]
        chat.gone.append(row.item)
        chat.fresh.append(row.item)
        chat.late.append(row)
        ko = chat.language == "ko"
        row.item, row.said = f"{'은 못' if ko else 'silver nail'} {turn}", ""
        row.answer = (
            f"밤은 길고 조용하다. 누군가 문을 두드린다. 늙은 사내가 너에게 {row.item}을 건넨다. 그는 웃지 않는다."
            if ko
            else f"The night is long and quiet. Somebody knocks. A man hands you the {row.item}. He does not smile."
        )


def cut_last(chat: Chat, turn: int) -> None:
    """The last two turns are cut off, once."""
    if turn == 9:
        chat.gone += [row.item for row in chat.rows[-2:]]
        del chat.rows[-2:]


def keep_deep_edit(chat: Chat, turn: int) -> None:
    if turn == 9:
        edit_typo(1)(chat)
        edit_question(2)(chat)


def translated(text: str) -> str:
    """Stands in for a translation: nothing of the words is left, and the script is another one."""
    if not re.search("[\uac00-\ud7a3]", text):
        return "".join(chr(0xAC00 + (ord(char) * 28) % 11172) if char.isalpha() else char for char in text)
    return re.sub(r"[\uac00-\ud7a3]", lambda match: "abcdefghijklmnop"[ord(match[0]) % 16], text)


HABITS = (
    Habit("plain"),
    *(Habit(f"last {count}", keep_last(count)) for count in (20, 10, 9, 4, 2)),
    Habit("window of 8", keep_last(9)),
    Habit("window of 3", keep_last(3)),
    Habit("names", each("*", lambda text: f"Rowan: {text}")),
    Habit("label on answers", each("assistant", lambda text: f"번역: {text}")),
    Habit("card as first message", lambda said, _: [("user", CARD), *said]),
    Habit("card merged into first message", lambda said, _: merge([("user", CARD), *said])),
    Habit("system notes", put_at(4, "system", NOTE)),
    Habit("swipe", change=swipe),
    Habit("note at depth 4", put_at(4, "user", NOTE)),
    Habit("note merged", note_merged),
    Habit("note at depth 1", lambda said, turn: merge(put_at(1, "user", NOTE)(said, turn))),
    Habit("strict", strict),
    Habit("single message", single),
    Habit("RisuAI", risu),
    Habit("text after history", lambda said, _: [*said, ("user", NOTE)]),
    Habit("lore squashed", squash("\n", LORE)),
    Habit("strips thoughts", show=without_thoughts, think=True),
    Habit("trims sentence", show=to_end_of_sentence, cut=True),
    Habit("asterisks away", show=lambda answer: answer.replace("*", "")),
    Habit("other quotes", show=lambda answer: re.sub(r'"([^"]*)"', r"“\1”", answer)),
    Habit("regex on words", show=lambda answer: re.sub(r"\bgrey\b", "gray", answer).replace("그리고", "그러고")),
    Habit("edits a question", change=at_turn(8, edit_question(3))),
    Habit("edits an answer", change=at_turn(8, edit_item(3))),
    Habit("edits the last answer", change=at_turn(8, edit_item(6))),
    Habit("typo in the last answer", change=at_turn(8, edit_typo(6))),
    Habit("deletes a question", change=at_turn(8, delete(3, "question"))),
    Habit("deletes an answer", change=at_turn(8, delete(3, "answer"))),
    Habit("deletes a turn", change=at_turn(8, delete(3, "turn"))),
    Habit("deep edit, last 8", keep_last(9), change=keep_deep_edit, kind="story"),
    Habit("Vectors", vectors, hides=True),
    Habit("Summarize", summarized),
    Habit("/hide", hidden, hides=True),
    Habit("/cut", change=cut_last),
    Habit("other model's answers", change=rewrite_last),
    Habit("translates answers", show=translated),
    Habit("NFD", each("*", lambda text: unicodedata.normalize("NFD", text))),
    Habit("CRLF", each("*", lambda text: text.replace("\n", "\r\n") + "\r\n")),
    Habit("20 turns from before", before=20),
    Habit("Open WebUI's sources", rag, kind="conversation"),
)
"""The habits that the thresholds were chosen on."""


# --- held out ---------------------------------------------------------------------------------------


def speak_in_turn(said: list[Said], _: int) -> list[Said]:
    """A group chat: each answer has the name of whoever spoke, and the program asks for one of them."""
    names = ("Mina", "Haru", "Old Tom")
    named = [
        (role, f"{names[at % 3]}: {text}" if role == "assistant" else text) for at, (role, text) in enumerate(said)
    ]
    return [*named, ("system", f"[Write the next reply only as {names[len(said) % 3]}.]")]


def with_time(said: list[Said], _: int) -> list[Said]:
    return [(role, f"[2026-11-27 15:{at:02}] {text}") for at, (role, text) in enumerate(said)]


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def keep_ends(said: list[Said], _: int) -> list[Said]:
    return said if len(said) < 12 else [*said[:4], *said[-7:]]


def go_back(chat: Chat) -> None:
    """A branch: the chat goes on from an earlier turn."""
    chat.gone += [row.item for row in chat.rows[4:]]
    del chat.rows[4:]


def edit_both(chat: Chat) -> None:
    edit_question(2)(chat)
    edit_item(2)(chat)


HELD_OUT = (
    Habit("group of speakers", speak_in_turn),
    Habit("time in front", with_time),
    Habit("remark on every question", each("user", lambda text: f"{text}\n\n(OOC: stay in character.)")),
    Habit("card as first answer", lambda said, _: [("assistant", CARD), *said], puts_first=True),
    Habit("full-width signs", each("*", lambda text: text.replace(".", "．").replace(",", "，"))),
    Habit("quoted answers", each("assistant", quoted)),
    Habit("first two and last three", keep_ends, hides=True),
    Habit("last message twice", lambda said, _: [*said, said[-1]]),
    Habit("branch", change=at_turn(9, go_back)),
    Habit("edits both sides", change=at_turn(8, edit_both)),
)
"""Habits that were written after the thresholds, and that nobody looked at while they were chosen."""
