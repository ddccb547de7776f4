"""Reads in a message whether it asks to be remembered, and what (specification 6, design 9.4), or to be forgotten.

The router knows a wish by its likeness to examples, so a plain statement with a number looks like one. A statement is
pinned only when the message asks for it in words: a verb of keeping where a request has its verb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from text import sentence

LIKELY = 0.05
"""Least probability of a wish, by the router, for a message that asks in words. Without such words nothing is a wish,
whatever its probability."""

_MIND = (
    r"(?:remember|rem?emb?e?r|memori[sz]e|(?:do ?n['’]?t|do not|not|never) (?:ever )?forget|bear (?:\w+ )?in mind"
    r"|keep (?:in mind|a (?:note|record)|track)|(?:make|take) (?:a )?note|note|jot)\b"
)
"""Verbs that ask for memory and seldom mean anything else where a request has its verb."""
_KEEP = (
    r"(?:keep (?:this|that|it|these|those|hold|my|our|the)|keep note"
    r"|(?:write|put|take|mark) (?:it |this |that |these )?down"
    r"|record|save|store|log|commit|retain|add .{1,30} memory|(?:hang|hold) on to|tuck)\b"
)
"""Verbs that people also use of what they do themselves: «… and keep the tent there»."""
_START = r"^|[,;:.!?–—-]\s*"
_PLEASE = r"please|pls|plz|kindly|let['’]?s|(?:you|u)|(?:you|u|sure|try) to|(?:you|u) (?:must|should|have to|need to)"
_LINK = r"and|so|also|just|always|do|now|on|then|way"
_ENGLISH = re.compile(
    rf"(?:{_START}|\b(?:{_PLEASE}|{_LINK})\s+){_MIND}|(?:{_START}|\b(?:{_PLEASE})\s+){_KEEP}"
    r"|\bif (?:you|u)(?:['’]d| would| could| can)? (?:remember|note|kept?|saved?|wr[oi]te)"
    r"|\b(?:remember|memori[sz]e|save|note|noted)(?: (?:it|this|that|please|ok|okay))*[.!]*$"
    r"|\b(?:keep|kept|bear)\b.{1,60}\bin mind\b|\bfor (?:later|next time|future \w+|the record|your memory)\b"
    r"|\b(?:to|in|into) (?:your )?memory\b",
    re.IGNORECASE,
)
_NOUN = r"(?:기억|메모|저장|기록|명심|유념|보관|등록|입력|추가|암기|킵|숙지)(?:[을를에]|으로)?"
_VERB = r"(?:적어|외워|외우|알아|새겨|염두에|남겨|넣어|챙겨|담아)"
_DONE = r"\s?(?:왔|뒀|놨|놓았|줬(?!으면)|주었|두었|봤|버렸|서|야)"
_KOREAN = re.compile(
    rf"{_NOUN}(?:\s?(?:꼭|좀|잘|따로|남겨|넣어))*\s?"
    rf"(?:(?:해|하고 있어)(?!{_DONE})|하세|하십|하셈|하길|하도록|[할하]\s?것|부탁|바라|바람|바랍|요망|주세요|줘|둬|놔|"
    r"[ㄱㅋ.!]*$)"
    rf"|{_VERB}\s?(?:도\s)?(?:줘|줄|주|둬|두|둘|놔|놓아|놓을|라|$|[.,!:?])(?!었|렸)"
    r"|(?:잊|까먹|까묵|잊어버리|잊어먹|빼먹)지\s?(?:마|말아|말고|말기|말 것|말것|않(?:게|도록|았으면|으면))"
    r"|(?:잊|까먹)으면 안"
)
"""Verbs of keeping as requests have them: «기억해 줘», «메모 부탁해요», not «기억해 왔다», «기억이 안 나»."""
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) (?:you|u)\b|\b(?:ok|okay|please|alright|right|thanks)\s*[?？]$"
    r"|(?:줄|주실|둘|놓을)\s?(?:래|수|거지|거죠)|(?:주|두)(?:시)?겠|(?:될|줄|둘)까|주면|(?:알겠|알았|부탁|좋겠)\S*\s*[?？]$",
    re.IGNORECASE,
)
_OWN_ACT = re.compile(r"(?:^|[\s,])(?:나|저|우리|저희)[는도](?=[\s,])|(?:^|[\s,])(?:난|전|우린|저흰)\s")
"""The user as the one who does what the sentence says: «저는 그걸 기억하고 있어요»."""
_KOREAN_REQUEST = re.compile(
    r"줘|주세|주시|줄래|줬으면|둬|두세|놔|놓아|부탁|(?:하|마|말)(?:세|십|셈|아)|말고|[가-힣]라[.!]*$|요망|바라|바람|바랍"
)
_ABOUT_MEMORY = re.compile(
    r"\b(?:(?:do|did|does|have|has|are|were)|(?:what|whatever|all|everything|anything)(?: that)?) (?:you|u)\b",
    re.IGNORECASE,
)
"""A question for what is remembered, or a clause about it: «Tell me everything you remember about me»."""
_SAME = re.compile(
    r"please|pls|plz|kindly|can|could|would|will|you|u|it|this|that|these|those|both|all|of|in|into|mind|your|down|a|an"
    r"|note|for|me|to|too|later|ok|okay|thanks|and|so|also|just|i|what|said|told|remember\w*|memori[sz]e|memory|don['’]?t"
    r"|do|not|never|forget|keep|bear|make|take|jot|write|put|record|save|store|log|commit|hang|hold|on"
    rf"|{_NOUN}(?:해|하|할|부탁)?[가-힣]{{0,5}}|{_VERB}[가-힣]{{0,5}}|(?:잊|까먹|까묵)[가-힣]{{1,5}}"
    r"|(?:그|이|저)(?:거|것|걸|건|게|말|내용|얘기|점|사실)?[을를은는도만]?|(?:방금|아까|지금|내가|제가)|(?:말한|한)|[거것걸](?:을|도|만)?"
    r"|꼭|좀|잘|제발|혹시|모두|전부|다|수|마|말아|말고|(?:해|줘|줄|둬|두|놔|놓|주|있|부탁|될|되)(?:라|래|요|세요|어|어요|을까요?|실|시겠어요|면|겠어|해|해요|합니다|드려요|드립니다|까|까요)?",
    re.IGNORECASE,
)
"""A word of a wish that names nothing by itself: a verb of keeping, «please», «it», «that», «그거», «방금 말한 것»."""

_DROP = (
    r"(?:forget|delete|erase|remove|wipe|scratch|scrap|drop(?! (?:me|by|in)\b)|purge|clear|discard|strike|lose|bin"
    r"|trash|ditch|dump|unlearn|expunge|get rid of|do away with|let go of|let .{1,40} go\b"
    r"|(?:take|cross|throw|cut|rub|leave|blot|weed) (?:.{1,40} )?(?:out|off|away)\b)"
)
"""What one does to memory that is to hold something no more."""
_HOLD = r"(?:keep|remember|stor[ei]|sav[ei]|hold|retain|need|hav[ei]|know|record|not[ei]|track|us[ei])(?:ing|e)?\b"
_NO = r"(?:do ?n['’]?t|do not|no longer|need ?n['’]?t|need not|never|stop|can stop|should ?n['’]?t|must ?n['’]?t|not)"
_MAY = r"(?:you|u)(?: (?:can|may|could|should|must|have to|need to|might))?(?: (?:as well|just|now|simply))?"
_WANT = (
    r"(?:want|like|need|ask(?:ing)?|have|get|expect) (?:you|u) to|(?:can|could|would|will) (?:you|u)|time to|ahead and"
)
_NOT_THEIRS = r"(?<!\bI\s)(?<!\bwe\s)(?<!\bhe\s)(?<!\bshe\s)(?<!\bthey\s)"
_ENGLISH_FORGET = re.compile(
    rf"(?:{_START}|\b(?:{_PLEASE}|{_MAY}|{_WANT})\s+|{_NOT_THEIRS}\b(?:so|just|now|then)\s+)(?:(?:please|just|now|simply|quickly)\s+)?{_DROP}"
    rf"|(?:{_START}|\b(?:{_PLEASE}|so|just|now|then|(?:you|u))\s+){_NO} (?:ever |to )?{_HOLD}"
    rf"|\bno (?:need|reason|point)(?: for (?:you|u))? (?:to |in |of )?{_HOLD}"
    r"|\b(?:act|behave|pretend|go on)\b.{0,20}\bI (?:never|had ?n['’]?t|did ?n['’]?t)\b"
    r"|\b(?:want|like|need)\b.{1,60}\b(?:gone|deleted|erased|removed|forgotten|wiped|dropped|purged)\b"
    r"|\b(?:can|must|should|has to|have to|needs? to)\s"
    r"(?:go[.!]*$|be (?:deleted|erased|removed|forgotten|wiped|dropped))",
    re.IGNORECASE,
)
_END = r"\s*(?:$|[.,!?~…:;])"
_ASKED = r"(?:줘|줄|주[세십시라면실]|줬으면|달라|다오|라)"
_KOREAN_FORGET = re.compile(
    rf"(?:지워|잊어|까먹어|빼|없애|비워|치워|날려|털어|떼어?)(?:\s?(?:버려|버리|내))?(?:\s?{_ASKED}|요?{_END})"
    r"|(?:지우|잊으|빼|없애|비우|치우|버리|잊어버리)(?:세요|십시오|셈|길|도록|자|렴)"
    rf"|(?:삭제|제거|폐기|말소|취소|초기화|파기|제외|정리)(?:\s?(?:좀|꼭|다|전부))*"
    rf"(?:\s?(?:해\s?(?:{_ASKED}|버려|요?{_END})|하(?:세|십|셈|길|도록|자)|[할하]\s?것|부탁|바라|바람|바랍|요망)|{_END})"
    r"|(?:지워|잊어|몰라|없어|없애|빼|삭제해|기억 ?안 ?해|기억하지 ?않아|저장 ?안 ?해"
    r"|까먹어)도\s?(?:돼|되|됩|좋|괜찮|상관)"
    r"|(?:지우|잊으|빼|없애|잊어버리|삭제하|기억 ?안 ?하|모르)셔도\s?(?:돼|되|됩|좋|괜찮|상관)"
    r"|그만 (?:기억|저장|보관)(?:해|하)"
    r"|(?:기억|저장|보관|기록|메모|간직)(?:을|를)?\s?(?:하|해\s?두|해\s?놓|하고\s?있)지\s?(?:마|말|않)"
    r"|(?:남기|남겨\s?두|남겨\s?놓|(?:가지|갖|알)고\s?있|외우|적어\s?두|담아\s?두)지\s?(?:마|말|않)"
    r"|(?:기억|저장|보관|알|외울|갖고 있을|남길|남겨 둘)\S*\s?필요(?:는|가|도)?\s?없"
    r"|(?:모르는|없던|못 ?들은|못 ?본|안 ?들은|말 ?안 ?한)\s?(?:척|체|일|얘기|걸|것|셈)"
)
"""Verbs of dropping as requests have them: «지워 줘», «몰라도 돼», «남기지 마», not «지웠어», «잊지 마»."""
_NEVER = re.compile(
    r"\b(?:do ?n['’]?t|do not|never|not to|wo ?n['’]?t)\s(?:you\s|ever\s|please\s)*" + _DROP, re.IGNORECASE
)
_HABIT = re.compile(r"(?:자꾸|맨날|매번|자주|항상|늘|가끔|종종)\s")
_REST_STAYS = re.compile(
    r"\b(?:but|except|keep|keeps|leave|stays?|not|without)\b|말고|그대로|놔\s?둬|남겨|제외하고|빼고|두고", re.IGNORECASE
)
"""Words by which a wish says of something that it stays: which is which only a reader can tell."""


def is_forget_wish(piece: str) -> bool:
    """Returns whether a sentence asks to forget all that it names. A statement of the user's about forgetting, and a
    question that is no request, ask for nothing; nor does what keeps something: «don't forget my address»."""
    found = _ENGLISH_FORGET.search(piece) or _KOREAN_FORGET.search(piece)
    if not found or _NEVER.search(piece) or _REST_STAYS.search(piece[: found.start()] + piece[found.end() :]):
        return False
    if sentence.ends_in_question_mark(piece):
        return bool(_REQUEST.search(piece))
    is_own_act = _OWN_ACT.search(piece) and not _KOREAN_REQUEST.search(piece)
    return not (is_own_act or _HABIT.search(piece))


def find_wish(message: str, earlier: Sequence[str], likely: float) -> str | None:
    """Returns what the user wants remembered: the message, or for a bare «remember it» the statement of the message
    before. Returns '' for a wish that names nothing, and None for a message without a wish.

    ``earlier``: the user's messages before, the last one last. ``likely``: the router's probability of a wish, 0–1.
    A message that answers «what shall I remember?» is a wish, too.
    """
    before = _extract_statement(earlier[-1]) if earlier else ""
    if is_wish(message) and likely >= LIKELY:
        return before if _is_bare(message) else _leave_out_wish(message)
    is_asked_back = (
        bool(earlier) and is_wish(earlier[-1]) and _is_bare(earlier[-1]) and not _extract_statement(*earlier[-2:-1])
    )
    return message if is_asked_back and _extract_statement(message) else None


def _leave_out_wish(message: str) -> str:
    """Returns a message without the sentences that only say that it is to be kept: «Please remember it.»"""
    kept = [piece for piece in sentence.split_sentences(message) if not (is_wish(piece) and _is_bare(piece))]
    return " ".join(kept) or message


def is_wish(message: str) -> bool:
    """Returns whether a sentence of the message asks to keep something. A question about memory («기억해?», «Do you
    remember …?») asks for nothing; a request in the form of a question («기억해 줄래?») does."""
    return any(_is_keep_request(piece) for piece in sentence.split_sentences(message))


def _is_keep_request(piece: str) -> bool:
    if not _ENGLISH.search(piece) and not _KOREAN.search(piece):
        return False
    if _REQUEST.search(piece):
        return True
    if _OWN_ACT.search(piece) and not _KOREAN_REQUEST.search(piece):
        return False
    return not sentence.ends_in_question_mark(piece) and not _ABOUT_MEMORY.search(piece)


def _is_bare(message: str) -> bool:
    """Returns whether a wish holds nothing but the wish: «Please remember it», «그거 기억해 줘»."""
    return all(_SAME.fullmatch(word) for word in re.findall(r"[\w'’]+", message))


def _extract_statement(message: str = "") -> str:
    """Returns the message's sentences that are neither questions nor wishes without anything else."""
    pieces = sentence.split_sentences(message)
    return " ".join(
        piece
        for piece in pieces
        if not sentence.ends_in_question_mark(piece) and not (_is_keep_request(piece) and _is_bare(piece))
    )
