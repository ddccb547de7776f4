"""Evidence by hand, on a conversation of five turns."""

from __future__ import annotations

from bench.public.evidence import GoldEvidence, is_held_verbatim, measure_evidence
from tests.table import table

FIVE = """
Noor: My rowing boat cost 840 euros.
Piet: I bake rye bread.
Noor: My race is on 17 June in Leiden.
Piet: Good luck!
Noor: I came third.
"""


@table(
    "gold, context, counts",
    [
        (["My rowing boat cost 840 euros."], FIVE, GoldEvidence(1, 1, 1, 1)),
        (["my rowing boat\ncost 840 euros"], FIVE, GoldEvidence(1, 1, 1, 1)),
        (["My rowing boat cost 840 euros."], "The boat: €840", GoldEvidence(1, 0, 1, 1)),
        (["My rowing boat cost 840 euros."], "The boat was cheap", GoldEvidence(1, 0, 1, 0)),
        (["My race is on 17 June in Leiden."], "race: June 17", GoldEvidence(1, 0, 1, 0)),
        (["My race is on 17 June in Leiden."], "race: June 17, Leiden", GoldEvidence(1, 0, 1, 1)),
        (["I bake rye bread."], "rye bread", GoldEvidence(1, 0, 0, 0)),
        (["I bake rye bread.", "My rowing boat cost 840 euros.", "I came fourth."], FIVE, GoldEvidence(3, 2, 1, 1)),
        ([], FIVE, GoldEvidence()),
        (["I came third."], "", GoldEvidence(1, 0, 0, 0)),
    ],
)
def test_gold_turns_word_for_word_and_by_their_facts(gold: list[str], context: str, counts: GoldEvidence) -> None:
    assert measure_evidence(gold, context) == counts


def test_names_of_the_speakers_are_no_facts() -> None:
    told = "Well done, Melanie! Greetings from Leiden."
    assert measure_evidence([told], "Leiden", ["Caroline", "Melanie"]) == GoldEvidence(1, 0, 1, 1)
    assert measure_evidence([told], "Leiden") == GoldEvidence(1, 0, 1, 0)


@table(
    "text, context, there",
    [
        ("I came third", FIVE, True),
        ("came third", "I became third", False),
        ("third", "thirdly", False),
        ("It’s “fine”", 'it\'s "fine"', True),
        ("came I third", FIVE, False),
    ],
)
def test_word_for_word_is_whole_words_in_order(text: str, context: str, there: bool) -> None:
    assert is_held_verbatim(text, context) is there
