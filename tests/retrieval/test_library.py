from __future__ import annotations
from pathlib import Path
from retrieval import Library

def test_smoke(library: Library, tmp_path: Path) -> None:
    (tmp_path/"d/faq").mkdir(parents=True)
    (tmp_path/"d/faq/a.md").write_text("# Apples\n\n## How do I peel an apple?\n\n1. Take a knife.\n2. Peel.\n\n## Pears?\n\nPears are green.\n")
    (tmp_path/"d/b.md").write_text("# Guide\n\n압축률을 바꾸려면 슬라이더를 움직입니다.\n")
    r=library.add([tmp_path/"d"])
    print(r, library.documents(), library.status)
    for h in library.search_all("How can I peel apples"): print(h)
    for h in library.search("압축률을 어떻게 바꾸나요"): print(h)
    print(library.add([tmp_path/"d"]))
    (tmp_path/"d/b.md").unlink()
    print(library.add([tmp_path/"d"]), library.status)
    print(library.section(library.search("apple")[0].passage.section_id))
