"""The sentences of the terminal in both languages; the web page has its own catalogue."""

from __future__ import annotations

import locale
from collections.abc import Callable, Mapping
from typing import Any, Literal

Language = Literal["ko", "en"]
ErrorText = Callable[[str, str, Mapping[str, Any]], tuple[str, str]]
"""Code, message and values of an error to what failed and what to do, in the user's language."""

# key: (Korean, English)
PHRASES: dict[str, tuple[str, str]] = {
    # doctor: what is looked at
    "python": ("파이썬", "Python"),
    "machine": ("컴퓨터", "Machine"),
    "packages": ("패키지", "Packages"),
    "settings": ("설정", "Settings"),
    "model": ("모델", "Model"),
    "profile": ("역할", "Role"),
    "weights": ("가중치", "Weights"),
    "store": ("저장소", "Store"),
    "documents": ("문서", "Documents"),
    "remembering": ("장기 기억", "Memory"),
    "disk": ("디스크", "Disk"),
    "port": ("포트", "Port"),
    "chromium": ("크로미움", "Chromium"),
    # doctor: what was found
    "machine.found": (
        "{platform}, 물리 코어 {physical_cores}개, 메모리 {memory_gib} GiB",
        "{platform}, {physical_cores} physical cores, {memory_gib} GiB of memory",
    ),
    "packages.found": ("{count}개가 requirements.txt와 같습니다", "{count} as in requirements.txt"),
    "packages.missing": ("없음: {names}", "missing: {names}"),
    "packages.differing": ("버전이 다름: {names}", "another version: {names}"),
    "settings.found": ("기본값에서 바꾼 설정 {count}개{names}", "{count} changed from the default{names}"),
    "model.hosted": ("외부 모델 {name} ({url})", "hosted model {name} at {url}"),
    "model.local": ("이 컴퓨터의 서버 {name} ({url})", "local server, {name} at {url}"),
    "model.embedded": ("내장 모델 {name}", "embedded model {name}"),
    "profile.line": ("{does} ({why})", "{does} ({why})"),
    "profile.small": (
        "작은 모델이라 말만 맡습니다. 계산, 시각, 찾아보기, 요약, 기억은 코드가 합니다",
        "small: it only talks; sums, the time, look-ups, summaries and memory are done by code",
    ),
    "profile.strong": (
        "큰 모델이라 도구를 스스로 고르고 문서를 읽고 답합니다. 코드는 확인만 합니다",
        "strong: it chooses tools and answers from documents itself; code only checks",
    ),
    "profile.toolless": (
        "큰 모델이지만 도구를 부를 수 없어 도구는 코드가 고릅니다. 문서는 읽고 답합니다",
        "strong, but it cannot call tools: code chooses them; it answers from documents itself",
    ),
    "profile.side.model": (
        "요약과 장기 기억은 모델이 씁니다",
        "summaries and memory are written by the model",
    ),
    "profile.side.extracted": (
        "요약과 장기 기억은 코드가 대화에서 골라냅니다",
        "summaries and memory are picked out of the conversation by code",
    ),
    "profile.why.setting": ("GIEOK_MODEL_PROFILE에 그렇게 정해져 있음", "GIEOK_MODEL_PROFILE says so"),
    "profile.why.catalogue": ("모델 목록에 그렇게 적혀 있음", "the catalogue of models says so"),
    "profile.why.size": ("서버가 알려 준 크기에 따라", "by the size that its server tells"),
    "profile.why.no_tools": ("서버가 도구를 받지 않음", "its server takes no tools"),
    "profile.why.unknown_size": (
        "크기를 알 수 없어 큰 모델로 봄",
        "nobody tells its size, so it counts as a strong one",
    ),
    "profile.why.one_slot": (
        "한 모델이 모든 일을 하므로 대화가 먼저임",
        "one model does everything here, and the conversation goes first",
    ),
    "profile.why.summaries_setting": ("GIEOK_SUMMARIES=model로 정해져 있음", "GIEOK_SUMMARIES=model"),
    "profile.unknown": ("모델을 찾지 못해 알 수 없음", "not known: no model was found"),
    "weights.unneeded": ("필요 없음", "not needed"),
    "weights.verified": ("확인됨, {size} ({path})", "verified, {size} ({path})"),
    "weights.unverified": (
        "있음, 시작할 때 확인함, {size} ({path})",
        "here, to be verified at the start, {size} ({path})",
    ),
    "weights.own": ("사용자 파일, {size} ({path})", "your own file, {size} ({path})"),
    "weights.missing": ("아직 없음, {size}를 내려받아야 함", "not here yet, {size} to fetch"),
    "store.found": ("세션 {sessions}개, {size} ({where})", "{sessions} sessions, {size} ({where})"),
    "store.new": ("아직 비어 있음 ({where})", "nothing kept yet ({where})"),
    "store.readonly": ("쓸 수 없음 ({where})", "cannot be written ({where})"),
    "documents.off": ("꺼져 있음 (GIEOK_RETRIEVAL)", "off (GIEOK_RETRIEVAL)"),
    "documents.new": ("아직 없음", "none yet"),
    "documents.found": (
        "문서 {documents}개(읽지 못함 {failed}개), 문단 {passages}개, 임베딩 {model}",
        "{documents} documents ({failed} could not be read), {passages} passages, embedded by {model}",
    ),
    "documents.corrupt": ("색인 파일이 손상됨", "the index file is damaged"),
    "documents.model": ("다른 임베딩 모델로 만든 색인", "the index is of another embedding model"),
    "remembering.off": ("꺼짐 (GIEOK_MEMORY)", "off (GIEOK_MEMORY)"),
    "remembering.embedded": (
        "내장 Valkey, 기억 {memories}개, 기다리는 일 {queued}개 ({where})",
        "embedded Valkey, {memories} memories, {queued} waiting ({where})",
    ),
    "remembering.external": (
        "Redis 연결됨, 기억 {memories}개, 기다리는 일 {queued}개 ({where})",
        "Redis answers, {memories} memories, {queued} waiting ({where})",
    ),
    "remembering.away": (
        "닿지 않음, 기다리는 일 {queued}개 ({where}: {reason})",
        "away, {queued} waiting ({where}: {reason})",
    ),
    "disk.found": ("남은 공간 {free} ({where})", "{free} free ({where})"),
    "port.free": ("{port}번 사용 가능", "{port} is free"),
    "port.taken": ("{port}번은 사용 중", "{port} is taken"),
    "chromium.found": ("{path}", "{path}"),
    "chromium.missing": ("없음 (브라우저 테스트에만 필요)", "none (only the browser tests need it)"),
    # doctor: what to do
    "python.do": ("파이썬 3.11 이상을 설치하세요.", "Install Python 3.11 or newer."),
    "packages.do": ("make run을 실행하면 설치됩니다.", "make run installs them."),
    "memory.do": (
        "내장 모델에는 빈 메모리가 {needed}쯤 필요합니다. 외부 모델을 쓰려면 OPENAI_API_KEY를 설정하세요.",
        "The embedded model wants about {needed} of free memory. OPENAI_API_KEY uses a hosted one instead.",
    ),
    "weights.do": (
        "make run이 내려받습니다. 가진 파일을 쓰려면 GIEOK_EMBEDDED_PATH에 경로를 적으세요.",
        "make run fetches it. GIEOK_EMBEDDED_PATH uses a file of your own.",
    ),
    "store.do": (
        "쓸 수 있는 폴더를 GIEOK_DATA_DIR에 적으세요.",
        "Point GIEOK_DATA_DIR at a folder that can be written.",
    ),
    "documents.do.rebuild": (
        "python cli.py index --rebuild로 다시 만드세요. 문서와 대화는 그대로입니다.",
        "python cli.py index --rebuild makes it anew; documents and conversations stay as they are.",
    ),
    "documents.do.failed": (
        "문서 페이지에 파일마다 이유가 적혀 있습니다.",
        "The documents page says why, file by file.",
    ),
    "remembering.do": (
        "대화는 그대로 되고, 다시 닿으면 밀린 턴을 기억합니다. REDIS_URL을 확인하세요.",
        "The chat goes on, and missed turns are remembered once it is back. Check REDIS_URL.",
    ),
    "disk.do": ("공간을 {needed} 이상 비우세요.", "Free at least {needed}."),
    "port.do": ("다음 빈 포트가 쓰입니다.", "The next free one will be used."),
    "chromium.do": ("make test가 설치합니다.", "make test installs it."),
    "verdict.ok": ("대화를 시작할 수 있습니다: make run", "A chat can start: make run"),
    "verdict.problem": (
        "아직 대화를 시작할 수 없습니다. 위의 ✗ 표시를 먼저 해결하세요.",
        "A chat cannot start yet: see to what is marked ✗ above.",
    ),
    # run
    "run.address": ("기억이 {url} 에서 열립니다. 끝내려면 Ctrl-C를 누르세요.", "Gieok is at {url}. Ctrl-C ends it."),
    "run.other_port": ("{wanted}번 포트가 사용 중이라 {port}번을 씁니다.", "Port {wanted} is taken; {port} is used."),
    # index
    "index.reading": ("문서 {file}/{files}: {name}", "document {file} of {files}: {name}"),
    "index.rebuilding": ("색인을 다시 만드는 중", "making the index anew"),
    "index.rebuilt": ("색인을 다시 만들었습니다.", "The index was made anew."),
    "index.done": (
        "추가 {added} · 변경 {changed} · 그대로 {unchanged} · 삭제 {removed} · 실패 {failed}, "
        "문단 {passages}개 ({embedded}개 임베딩), {seconds:.1f}초",
        "{added} added, {changed} changed, {unchanged} unchanged, {removed} removed, {failed} failed; "
        "{passages} passages ({embedded} embedded) in {seconds:.1f} s",
    ),
    "index.failed": ("✗ {said} {do}", "✗ {said} {do}"),
    "index.cancelled": (
        "멈추었습니다. 같은 명령을 다시 실행하면 이어서 합니다.",
        "Stopped. The same command goes on from here.",
    ),
    "index.watching": ("바뀌는 것을 지켜봅니다. 끝내려면 Ctrl-C를 누르세요.", "Watching for changes. Ctrl-C ends it."),
    "index.nothing": (
        "추가할 파일이나 폴더를 적으세요. 예: python cli.py index docs/",
        "Say which files or folders to add, such as: python cli.py index docs/",
    ),
    # memory
    "memories.cleanup": (
        "사라진 대화의 기억 {orphans}개, 남은 조각 {leftovers}개, 오래된 삭제 표시 {digests}개를 지웠습니다.",
        "Erased: memories of {orphans} conversations that are gone, {leftovers} leftovers, {digests} old marks.",
    ),
    "memories.export": ("기억 {count}개를 {file}에 저장했습니다.", "{count} memories written to {file}."),
    "memories.import": ("기억 {count}개를 가져왔습니다.", "{count} memories taken in."),
    "memories.sure": (
        "장기 기억을 모두 지울까요? 대화 기록은 남지만 기억은 되돌릴 수 없습니다.",
        "Erase all long-term memory? The conversations stay; the memory cannot be brought back.",
    ),
    "memories.erase": ("기억 {count}개를 모두 지웠습니다.", "All {count} memories are erased."),
    # chat
    "chat.welcome": (
        "{name}와 대화합니다. /help 도움말, Ctrl-C 답변 멈춤, Ctrl-D 끝내기",
        "Talking to {name}. /help for help, Ctrl-C stops an answer, Ctrl-D ends.",
    ),
    "chat.model": ("모델을 준비하는 중", "Getting the model ready"),
    "chat.stopped": ("(멈춤)", "(stopped)"),
    "chat.cut_off": (
        "답변이 {tokens:,}토큰 한도에서 잘렸습니다. 더 길게 받으려면 GIEOK_ANSWER_TOKENS를 늘리세요.",
        "The answer was cut off at its limit of {tokens:,} tokens. Raise GIEOK_ANSWER_TOKENS for longer ones.",
    ),
    "chat.tool": ("도구 {name}: {result}", "tool {name}: {result}"),
    "chat.summary": (
        "{first}-{last}턴 요약: {original}자 → {summary}자",
        "turns {first}-{last} summarised: {original} → {summary} characters",
    ),
    "chat.summary_failed": (
        "{first}-{last}턴은 요약하지 못해 원문 그대로 둡니다.",
        "turns {first}-{last} could not be summarised and stay as they are.",
    ),
    "chat.away": (
        "장기 기억에 지금 닿지 않습니다. 대화는 계속되고, 다시 닿으면 놓친 턴을 기억합니다.",
        "Long-term memory is away. The chat goes on; missed turns are remembered once it is back.",
    ),
    "chat.retry": ("/retry로 다시 시도할 수 있습니다.", "/retry tries again."),
    "chat.new": ("새 대화를 시작했습니다.", "A new conversation."),
    "chat.opened": ("대화를 열었습니다: {title}", "Opened: {title}"),
    "chat.none": ("아직 없습니다.", "None yet."),
    "chat.unknown": ("{command} 명령은 없습니다. /help를 보세요.", "There is no command {command}; see /help."),
    "chat.wants": (
        "{command} 뒤에 값이 필요합니다. 예: {example}",
        "{command} wants a value after it, such as {example}",
    ),
    "chat.rate": ("다음 요약부터 압축률 {rate}", "Compression rate {rate} from the next summary on"),
    "ask.remember": ("기억할까요? {what} [y/n]", "Keep this? {what} [y/n]"),
    "ask.forget": ("잊을까요? {what} [y/n]", "Forget this? {what} [y/n]"),
    "ask.pick": ("어느 것을 잊을까요? {what} [번호/n]", "Which shall be forgotten? {what} [numbers/n]"),
    "ask.done": ("그렇게 했습니다.", "Done."),
    "ask.left": ("그대로 두었습니다.", "Left as it was."),
    "ask.waits": ("장기 기억에 다시 연결되면 반영됩니다.", "It takes effect when long-term memory is back."),
    "ask.later": (
        "아직 정하지 않았습니다. 웹 화면에서 이 대화를 열면 답할 수 있습니다: python cli.py run",
        "Not decided yet. Open this conversation in the page to answer: python cli.py run",
    ),
    "help.new": ("새 대화", "a new conversation"),
    "help.sessions": ("지난 대화 목록", "the conversations so far"),
    "help.open": ("목록의 번호로 대화 열기", "open one by its number in the list"),
    "help.summary": ("이 대화의 요약", "the summaries of this conversation"),
    "help.rate": ("요약 압축률 (0.1–0.5)", "the compression rate (0.1 to 0.5)"),
    "help.retry": ("실패한 턴 다시 시도", "the failed turn again"),
    "help.quit": ("끝내기", "end"),
    "help.help": ("이 도움말", "this help"),
}


def phrase(language: Language, key: str, **values: object) -> str:
    """The sentence of ``key`` with its values; an unknown key raises ``KeyError``."""
    return PHRASES[key][0 if language == "ko" else 1].format(**values)


def chosen(asked: str, fixed: str) -> Language:
    """The language to speak: the one asked for, else the settings', else the system's; ``auto`` leaves it open."""
    for wanted in (asked, fixed, (locale.getlocale()[0] or "")[:2]):
        if wanted in ("ko", "en"):
            return "ko" if wanted == "ko" else "en"
    return "en"
