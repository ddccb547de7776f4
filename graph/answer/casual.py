"""Detects messages that are only a greeting, thanks or the like, so that one short call without context answers them.

Source: specification 2.4. A wrong yes costs an answer that ignores the conversation; a wrong no costs only some
seconds. Therefore the whole message must consist of known phrases.
"""

from __future__ import annotations

import re
import unicodedata

from text.clean import collapse_spaces

MAX_CHARS = 60

# Each table is one regular expression. Spaces and line breaks are for reading only; «_» is an optional space.
_GREETING = """
  안녕(하세요|하십니까)? | 안뇽 | 하이루? | 헤이 | 헬로우? | 방가(방가)? | 여보세요
| (만나서_)?반가(워요?|웠어요?|워용|습니다) | (만나서_)?반갑(습니다|네요?) | 처음_뵙겠습니다 | ㅎㅇ
| 잘_지냈?(어요?|니|나요)? | 오랜만(이야|이에요|이네요?|입니다) | 굿_?모닝
| 좋은_(아침|저녁|오후)(이에요|입니다|이야|이네요?)?(_?보내(세요|요)?|_?되세요)?
| (앞으로_?)?잘_?부탁(해요?|드려요|드립니다) | 새해_?복_많이_받(아요?|으세요|으십시오) | 메리_?크리스마스
| (hi+|hello|hey|hiya|howdy|yo|greetings)(_there|_all|_everyone|_again)?
| good_(morning|afternoon|evening|day)(_to_you)?(_all|_everyone)?
| (it'?s_)?(nice|good|great|pleased)_to_(meet|see)_you(_too|_again)? | how_are_you(_doing)?(_today)?
| how'?s_it_going | what'?s_up | sup | happy_new_year | merry_christmas | cheers(_mate)?
| 기억아? | gieok | 친구야
"""
_PARTING = """
  안녕히_(계세요|가세요|주무세요) | ㅂㅇ | 굿_?나잇 | 바이(바이)?
| 좋은_(밤|하루|주말)(이에요|입니다|이야|이네요?)?(_?보내(세요|요)?|_?되세요)?
| 잘_(자요?|있어요?|가요?) | ((또|다음에|내일|나중에|이따)_?)+(봐요?|뵐게요|만나요?|올게요?)
| good_night(_to_you)?(_all|_everyone)? | gnight | (good)?_?bye(_?bye)?(_for_now)?
| see_(you|ya)(_later|_soon|_tomorrow|_around)? | ttyl | cya | gn | (talk|speak)(_to_you)?_(later|soon|tomorrow)
| have_an?_(nice|good|great|lovely)_(day|one|evening|night|weekend) | sleep_well | take_care
"""
_THANKS = """
  ((정말|진짜|너무|아주|무척|항상|그동안|친절한|자세한|빠른|좋은|답변|대답|설명|안내|정보|도움|조언)_?
  |(도와|알려|답해|답변해|설명해)_?(줘서|주셔서)_?)*
  (고마워요?|고마웠(어요?|습니다)|고맙(다|습니다|네요?)?|감사(해요?|합니다|했어요?|했습니다|드려요|드립니다)?
  |땡큐|땡스|ㄱㅅ|ㄳ)
| (네_?)?덕분에_?(살았(어요?|습니다|다)|잘_?(됐|되었|했)어요?|도움이?_?(됐|되었)어요?)?
| (많이_|큰_|정말_)*도움이?_?(많이_)?(됐|되었)(어요?|습니다|네요?)
| (수고|고생)_?(많았어요?|많으셨습니다|했어요?|하셨습니다|하셨어요|하세요|해요?)?
| (thank(s|_?y?o?u)?|thanks_you|many_thanks|thn?x|tnx|ty(sm)?)(_(so|very)_much|_a_(lot|bunch|million|ton))?(_again)?
  (_for_((your|the|all|that|this)_)*(help|time|answers?|reply|explanation|explaining|info|information|advice|tips?
  |details|that|this|everything))?(_(man|mate|buddy|friend|everyone|gieok))?
| (much_appreciated|i?_?(really_)?appreciate_(it|that)) | much_obliged
| (that|this|it)_(really_)?(helped|helps|was_helpful)(_a_lot)? | (so_|very_|really_)?helpful
| you'?re_(a_lifesaver|the_best|great|awesome|amazing) | (great|good|nice|well)_(job|work|done)
"""
# Small words beside a courtesy. Alone they are not casual: they may answer the conversation («Reply yes to confirm»).
_ALONG = """
  네+ | 넵+ | 넹 | 넴 | 예+ | 응+ | 웅 | 엉 | 어+ | ㅇㅇ | ㅇㅋ+ | 오키 | 오케이? | 그래요?
| 좋(아요?|네요?|습니다) | 알(겠|았)(어요?|습니다|네) | 그렇(구나|군요?|네요?) | 아하 | 오+ | 와+ | 우와 | 아+
| 괜찮(아요?|습니다) | 됐(어요?|습니다) | 잘_?했어요? | 최고(야|예요|에요|네요?|다)?
| (멋지|멋져|대단해|훌륭해)(다|요|네요?)? | ok(ay|ey)? | kk? | al+_?right | fine | cool | nice | great | good | got_it
| i_see | (that_)?makes_sense | understood | right | no_(problem|worries) | np | awesome | amazing | that'?s_all
| perfect | wonderful | excellent | lovely | brilliant | wow | oh+ | ah+
| [ㅋㅎ]+ | [ㅠㅜ]+ | [하헤히호]{2,} | (ha){2,}h? | (he){2,} | lol | lmao
"""


_JOINED = re.compile("[가-힣ㄱ-ㅎㅠㅜ]")
"""Letters that need no space between two phrases."""


def _compile_phrase_pattern(*tables: str) -> re.Pattern[str]:
    """Returns a pattern that matches one phrase of the tables."""
    phrases = "|".join(re.sub(r"\s+", "", table).replace("_?", "_").replace("_", " ?") for table in tables)
    return re.compile(phrases)


_ALL = _compile_phrase_pattern(_GREETING, _PARTING, _THANKS, _ALONG)
_BARE = _compile_phrase_pattern(_ALONG)


def is_casual(text: str) -> bool:
    """Returns whether ``text`` consists only of greetings, thanks and goodbyes, in Korean or English, and the small
    words that go along with them («네, 감사합니다», «ok thanks»)."""
    if len(text) > MAX_CHARS:
        return False
    words = _normalize_message_words(text)
    return bool(words) and any(
        _is_phrase_sequence(form, _ALL) and not _is_phrase_sequence(form, _BARE)
        for form in _list_courtesy_spellings(words)
    )


def _normalize_message_words(text: str) -> str:
    """Returns the words of a message in lower case, with one space between them."""
    plain = "".join(map(_normalize_sign_width, unicodedata.normalize("NFC", text))).casefold().replace("’", "'")
    return collapse_spaces("".join(sign if _is_word_sign(sign) else " " for sign in plain))


def _normalize_sign_width(sign: str) -> str:
    """Returns a full-width sign in its usual form; keeps Korean letters on their own («ㅋ»)."""
    return sign if "ㄱ" <= sign <= "ㆎ" else unicodedata.normalize("NFKC", sign)


def _is_word_sign(sign: str) -> bool:
    return sign.isalnum() or sign == "'"


def _is_phrase_sequence(text: str, phrase: re.Pattern[str]) -> bool:
    """Returns whether a text is a sequence of phrases and nothing else.

    Looks for phrases once from each place, however many ways lead to the place. A regular expression for the whole text
    would try all ways («ㅋㅎㅋㅎ…» divides in 2^n ways), and nothing can interrupt a regular expression.
    """
    ends = [at for at in range(1, len(text)) if text[at] == " " or _JOINED.match(text[at])] + [len(text)]
    reached = {0}
    for place in [0, *ends[:-1]]:
        start = place + (text[place] == " ")
        if place in reached and (start == 0 or start > place or _JOINED.match(text[place - 1])):
            reached.update(end for end in ends if end > start and phrase.fullmatch(text, start, end))
    return len(text) in reached


def _list_courtesy_spellings(words: str) -> set[str]:
    """Returns the words in two spellings, with drawn-out signs cut to one and to two («heyyyy», «goooood»). Makes
    playful endings plain."""
    plain = re.sub(r"(?<=[세에해아어워])용\b", "요", re.sub(r"(?<=니)[당닷]\b", "다", words))
    plain = re.sub(r"(?<=[가-힣])[ㅋㅎㅠㅜ]+", "", plain)
    plain = re.sub(r"(?<=워)어+|(?<=녕)엉+|(?<=세요)오+", "", plain)
    return {re.sub(r"(.)\1{2,}", repeated, plain) for repeated in (r"\1", r"\1\1")}
