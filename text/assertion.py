"""What a text states: its sentences without questions, of a question the clauses before it.

Also a question without its mark: «여행지는 어디야», «what is my budget». Who asks for a value does not give it.
"""

from __future__ import annotations

import re

from text import sentence

_WHAT = r"(?:뭐|뭘|뭔|무엇|무슨|누구|누가|어디|언제|얼마|몇|어느|어떤|어떻|왜)"
_ASKS = re.compile(
    rf"(?:^|\s){_WHAT}(?!\S*(?:든지?|나|도)(?:\s|$))\S*(?:\s\S+)?[\s.!~…]*$"
    r"|(?:[았었였했겠있없되]나요?|하나요|[은는인한던건된운른런큰간온할될올갈을일]가요|(?<!니)까요?|[습입합됩십갑옵킵립]니까"
    r"|[았었였했겠]지요?|[았었였했겠]죠|맞지요?|맞죠)[\s.!~…]*$"
    r"|^(?:(?:so|and|but|ok|okay|hey|wait|um|oh|well|then),?\s)*"
    r"(?:(?:what|who|whose|where|when|which|how|why)(?:['’]s|\s(?:is|are|was|were|do|does|did|can|could|should|would|will"
    r"|much|many|old|long|far|big|often))"
    r"|(?:is|are|am|do|does|did|was|were|can|could|should|would|will|has)\s"
    r"(?:i|you|we|he|she|it|they|my|our|your|the|his|her|their|this|that|there))\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?<=[은는인한된던]데|니까|지만),?\s+|(?<=[았었였했]고),?\s+"
    r"|[,;]\s+(?=(?:(?:so|and|but|then)\s)?(?:can|could|would|will|shall|should|do|does|did|is|are|what|where|when|which|who"
    r"|why|how|any)\b)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^(?:(?:so|and|but)\s)?(?:if|unless|suppose|assuming|say|what if|when|would|should)\b|만약|만일", re.IGNORECASE
)


def assertions(text: str) -> list[str]:
    """The sentences that state something, in order, and what is stated before the question in its own sentence."""
    return [said for each in sentence.split(text) for said in _stated(each)]


def _stated(said: str) -> list[str]:
    if not said.rstrip().endswith(("?", "？")):
        return [] if _ASKS.search(said) else [said]
    before = [part.strip() for part in _BEFORE.split(said)[:-1]]
    return [part for part in before if not _ASKS.search(part) and not _SUPPOSED.search(part)]
