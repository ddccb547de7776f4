"""Marks in texts: facts and changes, with everything else escaped."""

from __future__ import annotations

from component.widget.marked import drop_bold, render_marked_changes, render_marked_facts


def test_facts_are_marked_by_what_became_of_them() -> None:
    said = render_marked_facts("3월 5일에 2,400원", ["3월 5일"], ["2,400원"])
    assert said == '<mark class="kept">3월 5일</mark>에 <mark class="lost">2,400원</mark>'


def test_the_longer_fact_wins() -> None:
    assert (
        render_marked_facts("12일과 2일", ["2일", "12일"])
        == '<mark class="kept">12일</mark>과 <mark class="kept">2일</mark>'
    )


def test_a_models_marks_for_bold_make_bold_and_are_not_seen() -> None:
    said = render_marked_facts("예산에서 **545,000원**이 남고 2**3 + 4**5는 ?", ["545,000원"])
    assert said == '예산에서 <strong><mark class="kept">545,000원</mark></strong>이 남고 2**3 + 4**5는 ?'
    assert drop_bold("**예산**은 2**3, __init__은 **그대로") == "예산은 2**3, __init__은 **그대로"


def test_markup_in_texts_and_facts_stays_text() -> None:
    said = render_marked_facts("<b>1</b> & <i>", ["<b>1</b>"])
    assert said == '<mark class="kept">&lt;b&gt;1&lt;/b&gt;</mark> &amp; &lt;i&gt;'
    assert "<script" not in render_marked_changes("a <script>", "b <script>x")


def test_changes_show_what_came_and_went() -> None:
    assert render_marked_changes("the old cat", "the new cat") == "the <del>old </del><ins>new </ins>cat"
    assert render_marked_changes("same", "same") == "same"
