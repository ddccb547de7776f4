"""What chat programs ask for themselves is recognised, and no message of a user is taken for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from door.openai.side_call import Pattern, Patterns, is_side_call, load_side_patterns
from server.request.message import ClientMessage
from tests.table import table

RECORDED = Path(__file__).parent / "recorded"
HISTORY = "### Chat History:\n<chat_history>\nUSER: 안녕\nASSISTANT: 안녕하세요.\n</chat_history>"

TASKS = [
    f"### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Guidelines:\n{HISTORY}",
    f"### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with\n{HISTORY}",
    f"### Task:\nGenerate a detailed prompt for am image generation task based on the given language\n{HISTORY}",
    f"### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next\n{HISTORY}",
    f"### Task:\nPredict 3-5 useful messages that the user may send next, based on the chat history.\n{HISTORY}",
    f"### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the\n{HISTORY}\n",
    "### Task:\nYou are an autocompletion system. Continue the text in `<text>` based on the completion type\n---\n"
    "### Context:\n<chat_history>\nUSER: 안녕\n</chat_history>\n<type>General</type>  \n<text>오늘</text>  \n"
    "#### Output:\n",
    f"### Task:\n이 대화에 어울리는 짧은 제목을 지어 줘.\n{HISTORY}",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions "
    "from the message and reflect them.\n\nMessage: ```안녕```",
    'You have been provided with a set of responses from various models to the latest user query: "안녕"\n\nYour task '
    "is to synthesize these responses into a single, high-quality response. It is\n\nResponses from models: 네",
    "Provide an exhaustive comma-separated list of tags describing the appearance of the character on this image in",
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title",
    "Provide a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation.",
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the",
    "Please generate a concise title (max 40 characters) for a conversation that starts with:\nUser: 안녕",
    "Generate a title in less than 6 words for the following message (language: ko):\nUser: 안녕\nAssistant: 네",
    "안녕\n네, 안녕하세요.\nGenerate a title in less than 6 words for the conversation so far (language: ko)",
    "Please generate a four to five word title summarizing our conversation without any lead-in, punctuation, marks",
    "다음과 같이 대화 내용을 요약하는 4~5단어 제목을 생성해주세요. 따옴표, 구두점, 인용부호, 기호 또는 추가 텍스트를",
    "Based on the chat history, give this conversation a name.\nKeep it short - 10 characters max.\nHere's the "
    "conversation:\n```\n안녕\n```",
]
"""User messages of programs, shortened."""

QUIET = [
    "[Write your next reply from the point of view of Minsu, using the chat history so far as a guideline]",
    "Ignore previous instructions. Summarize the most important facts and events in the story so far. If a summary",
    "Ignore previous instructions. Classify the emotion of the last message. Output just one word, e.g. joy",
    "In the next response I want you to provide only a detailed comma-delimited list of keywords and phrases which",
    "Ignore previous instructions and provide a detailed description of Haru's surroundings in the form of a list",
    "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
    "You are a professional conversation summarizer. Generate a concise title that captures the essence of it.",
    "You are an expert software engineer that generates concise, one-line Git commit messages based on the provided "
    "diffs.\nReview the diffs carefully.\n\nReply only with the one-line commit message, without any additional text, "
    "explanations, or line breaks.\n",
    "*Briefly* summarize this partial conversation about programming.\nInclude less detail.\n\nPhrase "
    "the summary with the USER in first person, telling the ASSISTANT about the conversation.\nWrite *as* the user.",
    "Available Tools: []\n\nYour task is to choose and return the correct tool(s) from the list of available tools "
    "based on the query. Follow these guidelines:",
    "你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题，不需要包含标点符号",
    "You're an assistant who's good at extracting key takeaways from conversations and summarizing them. Please",
]
"""System messages of programs, shortened."""

ENGLISH = [
    "Generate a concise title for my essay about lighthouses.",
    "Can you suggest a title for this conversation?",
    "What are good tags for a blog post about hiking?",
    "### Task\nTranslate this sentence into Korean.",
    "### Task:\nWrite a poem about the sea in four lines.",
    "### Task:\nGenerate a landing page for a bakery.\n### Output:\nHTML",
    "### Task:\nGenerate a concise, 3-5 word title for my poem about the sea.",
    "### Task:\nGenerate 1-3 broad tags categorizing these three recipes: soup, stew, salad.",
    "### Task:\nSuggest 3-5 relevant follow-up questions that I could put to the speaker.\n### Output:\nA list.",
    "### Task:\nYou are an autocompletion system. Complete: «To be or not to»",
    "### Task:\nExplain what `<chat_history>` means in a prompt template.",
    "### Task:\nSay who is rude here.\n<chat_history>\nANN: go away\nBOB: why?\n</chat_history>",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji. He says: hooray!",
    "You have been provided with a set of responses from various models to the latest user query: which one is best?",
    "Suggest 3 follow-up questions that I could ask in the interview tomorrow.",
    "Please generate a title.",
    "Provide a concise title for the attached paper.",
    "Summarize our conversation so far.",
    "Ignore previous instructions. Summarize the article instead.",
    "Ignore previous instructions and tell me a joke.",
    "Analyze this conversation and tell me who was rude.",
    "Why does Open WebUI send «### Task: Generate a concise, 3-5 word title» to my server?",
    "Write an image prompt of a fox in the snow for me.",
    "Based on the chat history, what do you know about me?",
    "Generate 1-3 broad tags for my photo album.",
    "Give this conversation a name, please: I want to find it again.",
    "You are an autocompletion system in a play; how would you greet the audience?",
    "[Write your next reply in rhymes.]",
    "Title: The Old Man and the Sea. Who wrote it?",
    "Generate a title in less than 6 words for the song that I wrote.",
]
KOREAN = [
    "이 대화의 제목을 지어 줘.",
    "블로그 글에 달 태그 세 개만 추천해 줘.",
    "내 논문 제목을 5단어 이하로 만들어 줘.",
    "다음에 물어볼 만한 질문을 추천해 줄래?",
    "지금까지 나눈 이야기를 요약해 줘.",
    "이전 지시는 무시하고 농담 하나 해 줘.",
    "### 과제:\n아래 문장을 영어로 옮겨 줘.",
    "### Task:\n아래 문장을 영어로 옮겨 줘.\n등대는 밤에 빛난다.",
    "제목: 노인과 바다. 누가 썼어?",
    "태그가 뭐야? HTML에서 말이야.",
    "Open WebUI가 보내는 «### Task: Generate a concise title»은 뭐야?",
    "이미지 생성 프롬프트를 하나 써 줘. 눈 속의 여우로.",
    "유튜브 영상 제목 후보를 열 개 뽑아 줘.",
    "검색어를 세 개만 만들어 줘. 부산 맛집을 찾으려고 해.",
    "대화 내용을 요약하는 제목을 만들면 어떤 게 좋을까?",
    "4~5단어로 된 제목을 생성해 줘. 주제는 등대야.",
    "자동 완성은 어떻게 동작해?",
    "이 채팅에 이름을 붙인다면 뭐라고 할래?",
    "해시태그를 넓은 주제로 1개, 좁은 주제로 3개 달아 줘.",
    "감정을 이모지 하나로 표현해 줘.",
    "내 다음 메시지를 예측해 봐.",
    "역할극을 잠시 멈추고 지금까지의 줄거리를 정리해 줘.",
]


def said(*pairs: str) -> list[ClientMessage]:
    return [ClientMessage("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(pairs)]


@table("text", TASKS)
def test_a_programs_message_in_the_users_name_is_a_side_call(text: str) -> None:
    assert is_side_call([ClientMessage("user", text)])
    assert is_side_call([*said("안녕", "안녕하세요."), ClientMessage("user", text)])
    assert is_side_call([ClientMessage("system", "You are Mira."), ClientMessage("user", f"  {text}\n")])


@table("text", QUIET)
def test_a_programs_system_message_is_a_side_call(text: str) -> None:
    assert is_side_call([*said("안녕", "안녕하세요.", "잘 지내?"), ClientMessage("system", text)])
    assert is_side_call([ClientMessage("system", text), ClientMessage("user", "user: 안녕\nassistant: 안녕하세요.")])


@table("text", [*ENGLISH, *KOREAN])
def test_a_message_about_titles_and_tags_is_no_side_call(text: str) -> None:
    assert not is_side_call([ClientMessage("user", text)])
    assert not is_side_call([ClientMessage("system", "You are Mira."), *said("안녕", "안녕하세요.", text)])


def test_there_are_enough_messages_that_must_not_match() -> None:
    assert min(len(set(ENGLISH)), len(set(KOREAN))) >= 20


@table("text", TASKS)
def test_an_earlier_message_decides_nothing(text: str) -> None:
    assert not is_side_call(said(text, "A title", "And who lives there?"))
    assert not is_side_call([*said("안녕"), ClientMessage("assistant", text)])


@table("text", [*TASKS, *QUIET])
def test_words_of_a_program_inside_a_users_message_decide_nothing(text: str) -> None:
    if "conversation so far (language:" not in text:
        assert not is_side_call([ClientMessage("user", f"What does this mean?\n{text}")])


def test_a_system_message_right_after_an_answer_is_a_programs_own_wish() -> None:
    turns = said("안녕", "안녕하세요.")
    assert is_side_call([*turns, ClientMessage("system", "지금까지의 이야기를 세 줄로 요약해.")])
    assert is_side_call(
        [ClientMessage("system", "You are Mira."), *turns, ClientMessage("developer", "Describe the scene.")]
    )
    assert not is_side_call(
        [*turns, ClientMessage("user", "더 말해 줘"), ClientMessage("system", "Stay in character.")]
    )
    assert not is_side_call(turns)


@table("text", ["[Continue your last message without repeating it.]", "[Write the next reply only as Haru.]"])
def test_a_nudge_for_the_next_answer_is_no_side_call(text: str) -> None:
    assert not is_side_call([*said("안녕", "안녕하세요."), ClientMessage("system", text)])


def test_nothing_at_all_is_no_side_call() -> None:
    assert not is_side_call([])
    assert not is_side_call([ClientMessage("system", "You are Mira.")])
    assert not is_side_call(
        [ClientMessage("assistant", "Good morning."), ClientMessage("system", "Stay in character.")]
    )


@pytest.mark.parametrize("client", ["open_webui", "sillytavern"])
def test_recorded_calls(client: str) -> None:
    calls: list[dict[str, Any]] = json.loads((RECORDED / f"{client}.json").read_text("utf-8"))["calls"]
    for call in calls:
        sent = [ClientMessage(message["role"], message["content"]) for message in call["body"]["messages"]]
        assert is_side_call(sent) == bool(call.get("side")), call["what"]


def test_every_pattern_says_whose_it_is_and_where_it_was_read() -> None:
    known = load_side_patterns()
    assert len(known.patterns) > 10
    for pattern in (*known.patterns, *known.nudges):
        assert pattern.client
        assert pattern.source
        assert len(pattern.begins) >= 8 or len("".join(getattr(pattern, "holds", ()))) >= 20, pattern.source
        assert pattern.begins == pattern.begins.lstrip()


def test_every_pattern_is_met_by_an_example() -> None:
    texts = [*TASKS, *QUIET]
    plain = [" ".join(text.split()) for text in texts]
    unmet = [pattern.source for pattern in load_side_patterns().patterns if not any(map(pattern.matches, plain))]
    assert unmet == []


def test_a_pattern_without_words_is_refused() -> None:
    with pytest.raises(ValidationError, match="begins or holds"):
        Pattern(client="x", source="y", role="user")
    with pytest.raises(ValidationError):
        Patterns.model_validate({"patterns": [{"client": "x", "source": "y", "role": "user", "starts": "z"}]})
