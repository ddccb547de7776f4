"""What the narrator says of an answer, apart from what its characters say."""

from __future__ import annotations

import re

SPEECH = "❝"
"""What stands in a narration for everything between quotation marks."""
_SPEECH = re.compile(r"\"[^\"\n]+\"|“[^”\n]+”|「[^」\n]+」|『[^』\n]+』|(?<!\w)'[^'\n]{2,}[.!?…,]'")
_SENTENCES = re.compile(r"(?<=[.!?…。])\s+|\n+")
_EARLIER = re.compile(
    r"생전|예전|옛날|언젠가|기억|회상|떠올|떠오|꿈|유언|편지|일기|환청|[았었했]었|"
    r"\b(?:once|used to|remember\w*|memor\w+|recall\w*|dream\w*|ago|letters?|diary|years|last words)\b",
    re.IGNORECASE,
)
_DEATH = re.compile(
    r"죽|시체|시신|무덤|주검|장례|\b(?:dead|died?|deaths?|bod(?:y|ies)|corpses?|graves?|buried|killed)\b", re.IGNORECASE
)
_ABSENCE = re.compile(
    r"잃|없(?!이)|사라|떠내려|빼앗|버렸|버린|두고 온|두고 왔|"
    r"\b(?:lost|gone|without|missing|no longer|never|not|cannot|taken|stolen|if only)\b|n[’']t\b",
    re.IGNORECASE,
)


def paragraphs(answer: str) -> list[str]:
    """Returns the paragraphs of an answer with ``SPEECH`` in the place of everything that is spoken."""
    return [line.strip() for line in _SPEECH.sub(SPEECH, answer).splitlines() if line.strip()]


def sentences(answer: str) -> list[str]:
    """Returns the sentences of the narrator."""
    return [one for paragraph in paragraphs(answer) for one in _SENTENCES.split(paragraph) if one]


def of_earlier(text: str) -> bool:
    """Returns whether a narration may tell what was before, or what is only dreamt or written."""
    return _EARLIER.search(text) is not None


def of_death(text: str) -> bool:
    """Returns whether a narration has words of death: it knows who is dead."""
    return _DEATH.search(text) is not None


def of_absence(text: str) -> bool:
    """Returns whether a narration may tell that something is not there, or does not happen."""
    return _ABSENCE.search(text) is not None
