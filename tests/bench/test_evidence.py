from __future__ import annotations

import argparse
from pathlib import Path

from bench import evidence
from tests.evaluation.public.files import locomo_sample, longmemeval_instance, written


def test_the_bench_reports_every_data_set_that_is_named(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    evidence.add_arguments(parser)
    talks = written(tmp_path / "talks.json", [locomo_sample()])
    histories = written(tmp_path / "s.json", [longmemeval_instance()])
    result = evidence.run(parser.parse_args(["--locomo", str(talks), "--longmemeval", str(histories)]))
    assert result["profile"] == "small"
    assert "bfcl" not in result
    assert result["locomo"]["wrong_gold"]["wrong"] == 99
    assert result["longmemeval"]["wrong_gold"] is None
    full = [item for item in result["longmemeval"]["figures"] if item["form"] == "full"]
    assert [(item["category"], item["verbatim"]) for item in full] == [
        ("all but adversarial", 1.0),
        ("knowledge-update", 1.0),
    ]
