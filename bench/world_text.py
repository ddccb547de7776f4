"""A generated story world for benches: names, lorebook, people, turns and questions, half Korean, half English.

The same seed gives the same world. Nothing in it is from a book.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from store.world.record import LAYERS, Changes, Character, Episode, Location, LoreEntry, LoreMark, PlayerItem, Relation

PLAYER = "아리아"
_WHO = (
    ("붉은", "늙은", "젊은", "외눈의", "말 없는", "검은", "작은", "떠돌이", "북쪽의", "웃는"),
    ("red", "old", "young", "one-eyed", "silent", "black", "little", "wandering", "northern", "laughing"),
)
_NAMES = (
    (
        "엘린",
        "한스",
        "카엘",
        "리나",
        "토마",
        "세라",
        "루카",
        "마르코",
        "미나",
        "다니엘",
        "유리",
        "베른",
        "소라",
        "하나",
    ),
    ("Elin", "Hans", "Kael", "Lina", "Toma", "Sera", "Luka", "Marco", "Mina", "Daniel", "Yuri", "Bern", "Nora"),
)
_WHAT = (
    ("어둠의", "은빛", "잊힌", "불타는", "고요한", "얼어붙은", "무너진", "오래된", "저주받은", "안개 낀"),
    ("dark", "silver", "forgotten", "burning", "quiet", "frozen", "broken", "ancient", "cursed", "misty"),
)
_PLACES = (("숲", "마을", "성채", "항구", "골짜기", "폐허"), ("wood", "village", "keep", "harbour", "valley", "ruins"))
_TRADES = (
    ("약초상", "대장장이", "기사", "상인", "사냥꾼", "학자"),
    ("herbalist", "smith", "knight", "merchant", "scholar"),
)
_THINGS = (("검", "물약", "열쇠", "등불", "지도", "반지"), ("sword", "potion", "key", "lamp", "map", "ring"))
_LORE = (
    (
        "{place} 근처에서 오래 알려진 이야기이며 {other}의 과거와 깊이 얽혀 있다.",
        "{place}의 {trade} {other}만이 그 까닭을 안다고 한다.",
        "겨울이 오면 사람들은 {place} 쪽을 피하고 문 앞에 {thing} 하나를 걸어 둔다.",
    ),
    (
        "{name} is an old tale told near {place}, and it is bound up with {other}.",
        "Only {other}, a {trade} of {place}, is said to know the reason.",
        "When winter comes people stay away from {place} and hang a {thing} at their doors.",
    ),
)
_EPISODES = (
    ("만남: {other}", "획득: {thing}", "다툼: {other}", "이동"),
    ("met: {other}", "gained: {thing}", "moved"),
)
_QUESTIONS = (
    "{place} 안에서 {other}에게 {thing} 하나를 보여 주며 {name}의 소식을 묻는다. {mood}",
    "In {place} I show {other} the {thing} of {name}.",
)
_MOODS = (
    ("바람이 차다.", "비가 온다.", "아무도 없다.", "손이 떨린다."),
    ("It rains.", "It is cold.", "Nobody sees it."),
)


Words = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass
class Generated:
    """Words of a world, and what is made of them. ``lore``, ``people``: how many there are."""

    seed: int = 7
    lore: int = 1000
    people: int = 200
    chance: random.Random = field(init=False)
    names: tuple[list[str], list[str]] = field(init=False)
    places: tuple[list[str], list[str]] = field(init=False)
    things: tuple[list[str], list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.names = self._named(_WHO, _NAMES, self.people // 2)
        self.places = self._named(_WHAT, _PLACES, 30)
        self.things = self._named(_WHAT, _THINGS, 30)

    def _named(self, first: Words, second: Words, count: int) -> tuple[list[str], list[str]]:
        """Returns so many names in each language, of two words; numbered where the words do not suffice."""
        korean, english = (
            [
                f"{one} {other}{'' if not again else f' {again + 1}'}"
                for again in range(9)
                for one in ones
                for other in others
            ]
            for ones, others in zip(first, second, strict=True)
        )
        return korean[:count], english[:count]

    def _filled(self, text: str, tongue: int, name: str = "") -> str:
        pick = self.chance.choice
        return text.format(
            name=name or pick(self.names[tongue]),
            place=pick(self.places[tongue]),
            other=pick(self.names[tongue]),
            trade=pick(_TRADES[tongue]),
            thing=pick(self.things[tongue]),
            mood=pick(_MOODS[tongue]),
        )

    def entries(self) -> list[LoreEntry]:
        """Returns the lorebook: an entry for each person, place and thing, the others for tales. A tenth is of layer
        A1, three tenths of each other one."""
        known = [
            (word, tongue)
            for words in (self.names, self.places, self.things)
            for tongue, of in enumerate(words)
            for word in of
        ]
        while len(known) < self.lore:
            tongue = len(known) % 2
            known.append((f"{self.chance.choice(self.names[tongue])} {len(known)}", tongue))
        return [self._entry(word, tongue) for word, tongue in known[: self.lore]]

    def _entry(self, word: str, tongue: int) -> LoreEntry:
        sentences = self.chance.choices(_LORE[tongue], k=self.chance.randint(1, 3))
        return LoreEntry(
            0,
            word,
            " ".join(self._filled(one, tongue, word) for one in sentences),
            layer=self.chance.choices(LAYERS, (1, 3, 3, 3))[0],
            keys=(f"{word} {self.chance.choice(_TRADES[tongue])}",),
            location=self.chance.choice(self.places[tongue]) if self.chance.random() < 0.3 else "",
        )

    def beginning(self) -> Changes:
        """Returns the cast and the places with which the story begins."""
        places = [*self.places[0], *self.places[1]]
        pick = self.chance.choice
        people = [*self.names[0], *self.names[1]]
        return Changes(
            (Character(PLAYER, places[0], 100), *(Character(one, pick(places), 50) for one in people)),
            tuple(Relation(PLAYER, one, "friend", self.chance.randint(-5, 5)) for one in people[::5]),
            tuple(Location(one, adjacent=tuple(self.chance.sample(places, 3))) for one in places),
            tuple(PlayerItem(one) for one in self.things[0][:10]),
        )

    def changes(self, turn: int, ids: list[int]) -> Changes:
        """Returns what a turn changes: the player's place and hit points, somebody met, two entries mentioned."""
        tongue = turn % 2
        place = self.chance.choice(self.places[tongue])
        other = self.chance.choice(self.names[tongue])
        event = self._filled(self.chance.choice(_EPISODES[tongue]), tongue)
        return Changes(
            (Character(PLAYER, place, self.chance.randint(1, 100)), Character(other, place, 50)),
            lore=tuple(LoreMark(id, last_mentioned=turn) for id in self.chance.sample(ids, 2)),
            mood=self.chance.choice(_MOODS[tongue]),
            episode=Episode(turn, place, event, (other,), round(self.chance.random(), 2)),
        )

    def question(self, number: int) -> str:
        """Returns a question of about 60 characters."""
        return self._filled(_QUESTIONS[number % 2], number % 2)
