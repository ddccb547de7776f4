"""Browsers in other zones than the server: each reader is told the time that it is there."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

import pytest

from tests.journey.application import App
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser


def test_the_model_is_told_the_time_of_each_readers_zone(visit: Visit, app: App) -> None:
    assert app.upstream is not None
    told = []
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart
        visit(timezone_id=zone).ask("시차 확인", 1)
        sent = [json.dumps(request.body, ensure_ascii=False) for request in app.upstream.requests]
        asked = [text for text in sent if "시차 확인" in text]
        found = re.findall(r"지금: (\d{4}-\d\d-\d\d) \(.\) (\d\d:\d\d)", asked[-1])
        told.append(datetime.fromisoformat("T".join(found[-1])))
    assert timedelta(hours=24) < told[0] - told[1] <= timedelta(hours=25)
