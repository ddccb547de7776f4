"""Marks in texts: facts and changes, with everything else escaped."""

from __future__ import annotations

from component.widget.marked import changed, marked


def test_facts_are_marked_by_what_became_of_them() -> None:
    said = marked("3월 5일에 2,400원", ["3월 5일"], ["2,400원"])
    assert said == '<mark class="kept">3월 5일</mark>에 <mark class="lost">2,400원</mark>'


def test_the_longer_fact_wins() -> None:
    assert marked("12일과 2일", ["2일", "12일"]) == '<mark class="kept">12일</mark>과 <mark class="kept">2일</mark>'


def test_markup_in_texts_and_facts_stays_text() -> None:
    said = marked("<b>1</b> & <i>", ["<b>1</b>"])
    assert said == '<mark class="kept">&lt;b&gt;1&lt;/b&gt;</mark> &amp; &lt;i&gt;'
    assert "<script" not in changed("a <script>", "b <script>x")


def test_changes_show_what_came_and_went() -> None:
    assert changed("the old cat", "the new cat") == "the <del>old </del><ins>new </ins>cat"
    assert changed("same", "same") == "same"
