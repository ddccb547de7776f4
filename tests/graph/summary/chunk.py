"""What the tests of summaries are about: three turns, short and long, with facts and without."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from errors import GieokError
from graph.summary import ChunkSource, Made, Writer, make_chunk_summary
from model.modelset import ModelSet
from model.scripted import ScriptedModel, build_scripted_models

TOPICS = """
그림책과 색연필을 골랐다. 부엌 창문을 새로 달았다. 기차표는 아직 못 샀다. 피아노 학원에 다니기로 했다.
바닷가 산책은 미루었다. 고양이가 밥을 잘 먹는다. 텃밭에 상추를 심는다. 연극 대본을 외우는 중이다.
자전거 바퀴를 갈아야 한다. 할머니께 편지를 드렸다. 별자리 사진을 찍고 싶다. 커튼 색깔은 초록으로 정했다.
도서관에서 소설을 빌렸다. 마라톤 연습이 힘들다. 빵 굽는 법을 배운다. 이웃집 음악 소리가 크다.
우산을 잃어버렸다. 수영장 물이 차가웠다. 새 구두가 발에 꼭 맞는다. 축구 경기를 함께 본다.
겨울옷을 꺼내 정리한다. 꽃집에서 튤립을 고른다. 머리를 짧게 잘랐다. 안경을 새로 맞추었다.
"""
WHEN = ("", "어제 이웃 아주머니 말씀으로는 ", "다음 계절이 오기 전까지 모두 함께 ")


def turns(*pairs: tuple[str, str]) -> list[AnyMessage]:
    """A user's and an assistant's message for each pair."""
    return [message for user, answer in pairs for message in (HumanMessage(user), AIMessage(answer))]


FACTS = turns(
    (
        "김민수 과장님이 3월 5일에 오신다고 합니다. 준비할 것을 정리해 주세요.",
        "네, 3월 5일에 맞추어 회의실과 자료를 준비하겠습니다.",
    ),
    ("비용은 120만 원까지 쓸 수 있어요.", "알겠습니다. 120만 원 안에서 다과와 인쇄를 맞추겠습니다."),
    (
        "고마워요. 나중에 또 물어볼게요. 그때까지 손님이 편히 쉴 자리와 돌아가는 길도 함께 살펴 주세요.",
        "언제든 말씀해 주세요. 잘 준비해 두겠습니다. 쉬실 자리는 창가로 하고 "
        "돌아가시는 길은 큰길에서 골목까지 지도로 보여 드리겠습니다.",
    ),
)


def chunk(size: int) -> list[AnyMessage]:
    """Three turns without facts, of so many characters together, in which nothing is said twice."""
    sentences = [each.strip() for each in " ".join(TOPICS.split()).split(".") if each.strip()]
    said = " ".join(f"{when}{each}." for when in WHEN for each in sentences)[:size]
    cuts = [size * part // 6 for part in range(7)]
    pieces = [said[start:end] for start, end in pairwise(cuts)]
    return turns(*zip(pieces[::2], pieces[1::2], strict=True))


def scripted(*answers: Any) -> tuple[ModelSet, ScriptedModel]:
    """A strong model for side work that gives these answers."""
    model = ScriptedModel(answers)
    return build_scripted_models(utility=model), model


def run(
    messages: list[AnyMessage],
    chosen: ModelSet,
    *,
    stop: threading.Event | None = None,
    stands_in: Callable[[GieokError], bool] = lambda _: False,
    writer: Writer | None = None,
    **of_source: Any,
) -> Made:
    """The summary of turns 1 to 3."""
    given = {"thread_id": "s1", "rate": 0.3, "language": "ko", **of_source}
    return make_chunk_summary(
        ChunkSource(messages, [1, 2, 3], **given), chosen, stop, stands_in=stands_in, writer=writer
    )
