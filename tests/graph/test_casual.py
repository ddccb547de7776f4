from __future__ import annotations

from functools import partial

from graph.answer.casual import MAX_CHARS, is_casual
from tests.steps import count_lines
from tests.table import table

CASUAL = """안녕|안녕하세요|안녕하세요!|안녕~~~|고마워|고마워요 ㅎㅎ|ㅎㅇ|hi|Hi!!|hiiii
heyyyy|hello there|thanks!|Thank you so much!|good night…|Good morning 😊|bye|okay, thanks
네 감사합니다|정말 고마워요 덕분에 살았어요|수고했어, 잘 자|좋은 아침이에요!|안녕 기억아|thx|ok thanks
감사합니당|고마워어어|Good evening! Nice to meet you|Thank you so much, you're a lifesaver
bye for now, talk tomorrow|안녕하세용|ㅎㅎ 고마워|how are you?|잘 지냈어?
오케이 땡큐|goooood morning|HELLO|안녕하세요 반가워요|네 알겠습니다 감사합니다|좋은아침
got it, thanks|see you later!|Thanks for your help|도와줘서 고마워|안녕히 계세요|That helped, thanks
No problem, bye|Ｈｉ|You’re the best|답변 감사합니다|설명 고마워요|자세한 답변 감사합니다|감사했습니다|고마웠어요
알려주셔서 감사합니다|Thank you so much for your help!|Thanks for the info|thank you for your answer|thanks man
thank u|Good evening, everyone|오랜만이에요|잘 부탁드립니다|앞으로 잘 부탁해|새해 복 많이 받으세요|Happy new year!
다음에 또 올게요|thanks, that's all|좋은 답변 고맙습니다"""

MORE = """안녕 지금 몇 시야?|thanks, and what is 3*4?|네?|ok?|?|...|3|안녕이라는 말은 어디서 왔어?
hi is short for what|thank you in Korean|고마워를 영어로|안녕 내 이름은 민수야|Hello, I'm Minsu
네이버|예약해줘|오늘|아니면|하하호호 이야기|no way to fix it?|good idea for dinner|오이|와이파이
어제|좋은 식당|그래서|아이폰|응급실|하이닉스|더 알려줘|계속|continue|not ok|네 번째|잘 자라는 식물
노래|okra|later than 5|sure thing, book it|good morning routine|bye-laws of a club
<script>alert(1)</script>||   |답변|설명|좋은 답변|도움|thanks for your help with what?|good info|잘 부탁할 사람
답변 감사 메일 써줘|thank you for the music|새해 복 많이 받으세요를 영어로|후에 오랜만"""

ANSWERS = """네|넵!|네네|응|예|그래|좋아요|아니|아니요|괜찮아요|알겠어요|ㅋㅋ|ㅠㅠ|👍|😂😂|❓|yes|ok|okay|sure|no
No problem|great|sounds good|perfect|lol|yes, thanks|no thanks|morning|later|that's all"""


@table("text", CASUAL.replace("\n", "|").split("|"))
def test_small_talk_is_casual(text: str) -> None:
    assert is_casual(text)


@table("text", MORE.replace("\n", "|").split("|"))
def test_whatever_says_or_asks_more_is_not(text: str) -> None:
    assert not is_casual(text)


@table("text", ANSWERS.replace("\n", "|").split("|"))
def test_what_may_answer_a_question_or_an_offer_is_not_casual(text: str) -> None:
    assert not is_casual(text)


@table("text", ["네" * 60, "ha" * 29 + "x", "good " * 12, "정말" * 29 + "x", "오와아" * 19 + "x", "안녕 " * 10**5])
def test_no_text_takes_many_steps(text: str) -> None:
    assert count_lines(partial(is_casual, text)) < 20 * MAX_CHARS**2


LAUGHING = "ㅋㅎㅠㅜ하헤호네넵예응어오와아"


@table("first", LAUGHING)
def test_no_alternation_takes_many_steps(first: str) -> None:
    """One regular expression for the whole text takes twice as long for each further letter: it never ends here."""
    for second in LAUGHING:
        for times in (9, 29):
            assert count_lines(partial(is_casual, f"{(first + second) * times} q")) < 20 * MAX_CHARS**2


def test_thanks_with_much_laughter_are_casual() -> None:
    assert is_casual("ㅋㅎ" * 20 + " 고마워")
    assert is_casual("하하호하하" + "ㅠㅜ" * 20 + " 고마워")


def test_a_long_message_is_never_casual() -> None:
    assert not is_casual("안녕 " * MAX_CHARS)
