"""Small made-up files in the shapes of the public data sets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def written_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    return path


def line(speaker: str, dia_id: str, text: object, **fields: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **fields}


def locomo_sample(**changes: Any) -> dict[str, Any]:
    """Two friends, Noor and Piet, over three sessions; the second one begins with Piet, the third one has no date."""
    conversation = {
        "speaker_a": "Noor",
        "speaker_b": "Piet",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            line("Noor", "D1:1", "My rowing boat cost 840 euros."),
            line("Noor", "D1:2", "I row on the Amstel."),
            line("Piet", "D1:3", "Nice! I bake rye bread."),
            line("Noor", "D1:4", "Look at it.", blip_caption="a green boat on a river"),
            line("Piet", "D1:5", "Pretty."),
        ],
        "session_2_date_time": "12:05 am on 3 June, 2023",
        "session_2": [
            line("Piet", "D2:1", "Hello Noor, my oven broke yesterday."),
            line("Noor", "D2:2", "Oh no. My race is on 17 June."),
        ],
        "session_3": [line("Noor", "D3:1", "I came third."), line("Piet", "D3:2", "Well done!")],
        "session_4_date_time": "1:00 pm on 9 July, 2023",
    }
    return {
        "sample_id": "talk-1",
        "conversation": {**conversation, **changes},
        "qa": [
            {"question": "How much was the boat?", "answer": 840, "evidence": ["D1:1"], "category": 4},
            {"question": "What do they do?", "answer": "row, bake", "evidence": ["D1:2; D1:3"], "category": 1},
            {"question": "Would Noor win?", "answer": "No; she came third", "evidence": ["D3:01"], "category": 3},
            {"question": "When is it?", "answer": "17 June", "evidence": ["D2:2", "D9:9"], "category": 2},
            {
                "question": "What did Piet race?",
                "adversarial_answer": "a boat",
                "evidence": ["D2:2"],
                "category": 5,
            },
        ],
    }


def longmemeval_instance(**changes: Any) -> dict[str, Any]:
    instance = {
        "question_id": "q1",
        "question_type": "knowledge-update",
        "question": "How many plants do I have?",
        "answer": 12,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/25 (Thu) 10:00", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["b", "a"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I have 12 plants now.", "has_answer": True},
                {"role": "assistant", "content": "A jungle!"},
            ],
            [
                {"role": "assistant", "content": "Welcome back."},
                {"role": "user", "content": "I have 9 plants.", "has_answer": True},
                {"role": "assistant", "content": ""},
                {"role": "user", "content": "One is a fern."},
            ],
        ],
        "answer_session_ids": ["b"],
    }
    return {**instance, **changes}


def bfcl_history(scenario: str = "student", number: int = 0, *texts: str) -> dict[str, Any]:
    exchanges = [[{"role": "user", "content": text}] for text in texts]
    return {"id": f"memory_prereq_{number}", "scenario": scenario, "topic": "t", "question": exchanges}


def bfcl_question(**changes: Any) -> dict[str, Any]:
    question = {
        "id": "memory_0",
        "scenario": "student",
        "question": "What is my cat's name?",
        "answers": ["Pixel", "pixel the cat"],
        "source": "My cat is called Pixel... she is 4 years old",
    }
    return {**question, **changes}
