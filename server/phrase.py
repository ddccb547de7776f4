"""The sentences of the terminal in both languages; the web page has its own catalogue."""

from __future__ import annotations

import locale
from collections.abc import Callable, Mapping
from typing import Any, Literal

Language = Literal["ko", "en"]
ErrorText = Callable[[str, str, Mapping[str, Any]], tuple[str, str]]
"""Function from the code, message and values of an error to two texts in the user's language: what failed and what to
do."""

# key: (Korean, English)
PHRASES: dict[str, tuple[str, str]] = {
    # doctor: the checks
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
    "api_port": ("엔드포인트 포트", "Endpoint's port"),
    "reach": ("접속", "Users"),
    "chromium": ("크로미움", "Chromium"),
    # doctor: the findings
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
        "작은 모델이라 대화만 맡고, 계산·시각·문서 검색·요약·기억은 코드가 처리합니다",
        "a small model: it only writes; calculations, the time, searches, summaries and memory are handled by code",
    ),
    "profile.strong": (
        "큰 모델이라 도구를 스스로 고르고 문서를 읽어 답합니다. 코드는 확인만 합니다",
        "a strong model: it chooses tools and answers from documents itself; code only checks",
    ),
    "profile.toolless": (
        "큰 모델이지만 도구 호출을 지원하지 않아 도구는 코드가 고릅니다. 문서는 직접 읽고 답합니다",
        "a strong model that cannot call tools: code chooses them; it answers from documents itself",
    ),
    "profile.side.model": (
        "요약과 장기 기억은 모델이 작성합니다",
        "summaries and memory are written by the model",
    ),
    "profile.side.extracted": (
        "요약과 장기 기억은 코드가 대화에서 문장을 골라 만듭니다",
        "summaries and memory are made by code from sentences of the conversation",
    ),
    "profile.why.setting": ("GIEOK_MODEL_PROFILE 설정", "set by GIEOK_MODEL_PROFILE"),
    "profile.why.catalogue": ("모델 목록에 정해져 있음", "set in the catalogue of models"),
    "profile.why.size": ("서버가 알려 준 모델 크기", "the size that its server reports"),
    "profile.why.no_tools": ("서버가 도구 호출을 지원하지 않음", "its server does not support tools"),
    "profile.why.unknown_size": (
        "크기를 알 수 없어 큰 모델로 간주함",
        "its size is unknown, so it is treated as strong",
    ),
    "profile.why.one_slot": (
        "모델 하나가 모든 일을 하므로 대화를 우선함",
        "one model does everything here, so the conversation goes first",
    ),
    "profile.why.summaries_setting": ("GIEOK_SUMMARIES=model 설정", "set by GIEOK_SUMMARIES=model"),
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
        "내장 Valkey, 대화 {memories}개의 기억 ({where})",
        "embedded Valkey, memories of {memories} conversations ({where})",
    ),
    "remembering.external": (
        "Redis 연결됨, 대화 {memories}개의 기억 ({where})",
        "Redis answers, memories of {memories} conversations ({where})",
    ),
    "remembering.away": (
        "Redis에 연결할 수 없음, 대화 {memories}개의 기억은 데이터베이스에 있음 ({where}: {reason})",
        "Redis is unavailable, memories of {memories} conversations are in the database ({where}: {reason})",
    ),
    "disk.found": ("남은 공간 {free} ({where})", "{free} free ({where})"),
    "port.free": ("{port}번 사용 가능", "{port} is free"),
    "port.taken": ("{port}번은 사용 중", "{port} is taken"),
    "chromium.found": ("{path}", "{path}"),
    "chromium.missing": ("없음 (브라우저 테스트에만 필요)", "none (only the browser tests need it)"),
    # doctor: the remedies
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
        "빠른 사본이 없을 뿐 잃는 것은 없습니다. REDIS_URL을 확인하세요.",
        "Only the fast copy is missing, nothing is lost. Check REDIS_URL.",
    ),
    "disk.do": ("공간을 {needed} 이상 비우세요.", "Free at least {needed}."),
    "reach.alone": ("이 컴퓨터의 사용자 한 명, 로그인 없음", "one user on this machine, without a login"),
    "reach.login": ("OpenID Connect 로그인 ([auth])", "a login by OpenID Connect ([auth])"),
    "reach.proxy": (
        "{header} 헤더에 적힌 사용자, {proxies}에서 올 때만",
        "who the header {header} names, from {proxies} only",
    ),
    "reach.do": (
        "{hosts}(으)로 다른 컴퓨터에서 열려면 .streamlit/secrets.toml의 [auth]나 {header} 설정이 필요합니다.",
        "For {hosts} to open elsewhere, set up [auth] in .streamlit/secrets.toml, or {header}.",
    ),
    "port.do": ("다음 빈 포트가 쓰입니다.", "The next free one will be used."),
    "api_port.do": (
        "엔드포인트가 이미 열려 있다면 괜찮습니다. 아니면 GIEOK_API_PORT나 cli.py serve --port로 다른 포트를 고르세요.",
        "All right if the endpoint runs already; else choose another with GIEOK_API_PORT or cli.py serve --port.",
    ),
    "chromium.do": ("make test가 설치합니다.", "make test installs it."),
    "verdict.ok": ("대화를 시작할 수 있습니다: make run", "A chat can start: make run"),
    "verdict.problem": (
        "아직 대화를 시작할 수 없습니다. 위의 ✗ 표시를 먼저 해결하세요.",
        "A chat cannot start yet: see to what is marked ✗ above.",
    ),
    # run
    "host.refused": (
        "이 주소로는 열리지 않습니다. 일부러 이 이름으로 여는 것이라면 {name}에 이 이름을 적고 다시 시작하세요.",
        "The page does not answer at this address. If it is meant to, put its name into {name} and start again.",
    ),
    "reach.no_login": (
        "로그인이 설정되지 않아 이 컴퓨터에서만 열립니다. 다른 컴퓨터에서 열려면 .streamlit/secrets.toml에"
        " [auth]를 설정하거나 {header}에 리버스 프록시의 헤더 이름을 적으세요 (docs/guide/ko/several-users.md).",
        "Without a login the page opens on its own machine only. To open it elsewhere, set up [auth] in"
        " .streamlit/secrets.toml, or name the header of your reverse proxy in {header}"
        " (docs/guide/en/several-users.md).",
    ),
    "reach.no_user": (
        "누가 접속했는지 알 수 없어 열지 않습니다. 페이지는 사용자 이름을 {header} 헤더로 보내는 리버스 프록시를 거쳐야"
        " 열리고, 그 프록시의 주소는 {proxies}에 있어야 합니다 (docs/guide/ko/several-users.md).",
        "The page does not open, as nothing says who you are. It opens through the reverse proxy that sends the user's"
        " name in the header {header}, and whose address is among {proxies} (docs/guide/en/several-users.md).",
    ),
    "run.address": ("기억이 {url} 에서 열립니다. 끝내려면 Ctrl-C를 누르세요.", "Gieok is at {url}. Ctrl-C ends it."),
    "run.other_port": ("{wanted}번 포트가 사용 중이라 {port}번을 씁니다.", "Port {wanted} is taken; {port} is used."),
    # serve, key
    "serve.address": (
        "OpenAI 호환 주소는 {url} 입니다. 끝내려면 Ctrl-C를 누르세요.",
        "The OpenAI-compatible address is {url}. Ctrl-C ends it.",
    ),
    "key.added": (
        "키입니다. 다시 보여 드릴 수 없으니 지금 적어 두세요: {secret}",
        "Your key; it cannot be shown again, so note it now: {secret}",
    ),
    "key.none": ("아직 키가 없습니다.", "There is no key yet."),
    "key.active": ("사용 중", "active"),
    "key.no_documents": ("문서 없이", "without documents"),
    "key.no_memory": ("사용자 기억 없이", "without the user's memory"),
    "key.revoked_state": ("취소됨", "revoked"),
    "key.revoked": ("키 {id}을(를) 취소했습니다.", "The key {id} is revoked."),
    "key.unknown": ("사용 중인 키 {id}이(가) 없습니다.", "There is no active key {id}."),
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
        "사라진 대화의 기억 {orphans}개, 남은 조각 {leftovers}개를 지웠습니다.",
        "Erased: memories of {orphans} conversations that are gone, {leftovers} leftovers.",
    ),
    "backup.written": (
        "{file}에 모두 저장했습니다({size}). 모델 서버의 키와 모델 파일은 들어 있지 않습니다.",
        "Everything is in {file} ({size}), but for the key of the model's server and the model's files.",
    ),
    "backup.restored": ("파일 {count}개를 {place}에 되돌려 놓았습니다.", "{count} files are back in {place}."),
    "memories.export": ("기억 {count}개를 {file}에 저장했습니다.", "{count} memories written to {file}."),
    "memories.import": ("기억 {count}개를 가져왔습니다.", "{count} memories taken in."),
    "memories.sure": (
        "장기 기억을 모두 지울까요? 대화 기록은 남지만 기억은 되돌릴 수 없습니다.",
        "Erase all long-term memory? The conversations stay; the memory cannot be brought back.",
    ),
    "memories.erase": ("기억 {count}개를 모두 지웠습니다.", "All {count} memories are erased."),
    # eval
    "eval.title": ("기억 평가", "Memory evaluation"),
    "eval.preparing": ("모델을 준비하는 중", "Getting the models ready"),
    "eval.calibrating": ("채점 모델을 검정하는 중 ({which})", "Calibrating the judge ({which})"),
    "eval.begun": (
        "시나리오 {scenarios}개, 결과 {results}개를 만듭니다. 기록: {folder}",
        "{scenarios} scenarios, {results} results. Kept in {folder}",
    ),
    "eval.resumed": (
        "이어서 합니다. 결과 {there}개는 이미 있습니다: {folder}",
        "Going on: {there} results are there already, in {folder}",
    ),
    "eval.nothing_to_resume": (
        "같은 조건으로 하다 만 평가가 없어 새로 시작합니다.",
        "No unfinished evaluation has the same plan; a new one begins.",
    ),
    "eval.one_run": (
        "채점 모델도 --live도 쓰지 않으면 반복해도 결과가 같으므로 한 번만 합니다.",
        "Without a judge and without --live every run is the same, so there is one.",
    ),
    "eval.not_asked": (
        "작은 모델이라 채점을 맡기지 않고, 심은 값이 남았는지만 봅니다. 그래도 채점하려면 --judge yes를 붙이세요.",
        "The model is too small for a judge; the planted values carry the result. --judge yes asks it all the same.",
    ),
    "eval.stopped": (
        "멈추었습니다. 결과 {there}개가 남아 있고, 같은 명령에 --resume을 붙이면 이어서 합니다.",
        "Stopped. {there} results are kept; the same command with --resume goes on.",
    ),
    "eval.report": ("보고서: {path}", "Report: {path}"),
    "eval.measure.judge": (
        "«{form}» 채점 평균 {value}점 (100점 만점){mark}",
        "Mean judge score of «{form}»: {value} of 100{mark}",
    ),
    "eval.measure.probes": (
        "«{form}» 사실 보존 {value}% (심은 값 기준)",
        "Facts held by «{form}»: {value} % of the planted values",
    ),
    "eval.measure.none": ("«{form}»의 점수가 없습니다.", "There is no figure of «{form}»."),
    "eval.below": ("기준 {limit}점보다 낮습니다.", "Below the wanted {limit}."),
    "eval.too_many_unscored": (
        "결과 {results}개 가운데 {unscored}개에 점수가 없습니다. 10%를 넘으면 통과할 수 없습니다.",
        "{unscored} of {results} results have no figure; more than a tenth fails the evaluation.",
    ),
    "eval.mark.passed": ("", ""),
    "eval.mark.failed": (" ✗ 검정에서 떨어진 채점 모델", " ✗ by a judge that failed its calibration"),
    "eval.mark.unknown": (" ? 검정하지 않은 채점 모델", " ? by a judge that was not calibrated"),
    "eval.marks": (
        "점수 뒤 ✗: 채점 모델이 검정에서 떨어졌습니다. ?: 채점 모델을 검정하지 않았습니다.",
        "Behind a score, ✗: the judge failed its calibration; ?: the judge was not calibrated.",
    ),
    "eval.standing.passed": (
        "{which}: 채점 모델이 검정을 통과했습니다.",
        "{which}: the judge passed its calibration.",
    ),
    "eval.standing.failed": (
        "{which}: 채점 모델이 검정에서 떨어졌습니다. 점수를 믿지 마세요. (✗)",
        "{which}: the judge failed its calibration. Do not rely on its scores. (✗)",
    ),
    "eval.standing.unknown": (
        "{which}: 채점 모델을 검정하지 않았습니다. --judge yes를 붙이면 먼저 검정합니다. (?)",
        "{which}: the judge was not calibrated; --judge yes does that first. (?)",
    ),
    "eval.language.ko": ("한국어", "Korean"),
    "eval.language.en": ("영어", "English"),
    "eval.not_judged": (
        "채점 모델에게 묻지 않았습니다. 심은 값이 남아 있는지만 보았습니다.",
        "No judge was asked; only the planted values were looked for.",
    ),
    "eval.all_scenarios": ("전체", "all scenarios"),
    "eval.waiting": ("정리 전 {count}턴", "{count} turns wait"),
    "eval.is_stopped": (
        "끝까지 하지 못했습니다. 여기까지의 결과입니다.",
        "Stopped before its end; these are the results so far.",
    ),
    "eval.results_of": ("{wanted}개 가운데 {there}개", "{there} of {wanted}"),
    "eval.spent": ("{seconds}초, {usd}", "{seconds} s, {usd}"),
    "eval.run": ("{run}회차", "run {run}"),
    "eval.disagrees": ("채점 {overall}점, 사실 보존 {recall}", "judge {overall}, facts held {recall}"),
    "eval.agrees": ("없습니다.", "None."),
    "eval.asked": ("{turn}번째 턴의 질문: {query}", "Asked in turn {turn}: {query}"),
    "eval.failed": ("결과를 만들지 못했습니다: {code}", "There is no result: {code}"),
    "eval.holds_nothing": ("(빈 기억)", "(holds nothing)"),
    "eval.probe.present": ("있어야 하는 값: {value}", "should be there: {value}"),
    "eval.probe.current": ("지금 값: {value} (옛 값: {about})", "should be current: {value} (replaced: {about})"),
    "eval.probe.under": ("{about}의 값: {value}", "should stand under {about}: {value}"),
    "eval.probe.absent": ("없어야 하는 값: {value}", "must not be there: {value}"),
    "eval.rating.empty": (
        "빈 기억이라 모델에게 묻지 않았습니다(10점).",
        "An empty memory; no model was asked (10 points).",
    ),
    "eval.rating.unscored": ("채점하지 못했습니다: {why}", "Unscored: {why}"),
    "eval.stated": ("모델이 적은 총점은 {stated}점입니다.", "The model's own overall score is {stated}."),
    "eval.helpful": ("도움이 된 정보", "Helpful"),
    "eval.missing": ("빠진 정보", "Missing"),
    "eval.answered": ("모델의 답, 정답 값 {right}", "The model's answer, values right {right}"),
    "eval.unanswered": ("모델이 답하지 못했습니다: {code}", "The model gave no answer: {code}"),
    "eval.section.by_form": ("기억 형태별", "By form of memory"),
    "eval.section.by_form.about": (
        "시나리오 전체의 평균입니다. 같은 대화 하나에서 모든 형태를 뽑았습니다.",
        "Means over all scenarios. Every form was taken from the same play of a conversation.",
    ),
    "eval.section.by_scenario": ("시나리오별", "By scenario"),
    "eval.section.by_scenario.about": (
        "반복한 결과의 평균입니다. 편차는 가장 높은 회차와 가장 낮은 회차의 차이입니다.",
        "Means over the runs; the spread is the highest run less the lowest.",
    ),
    "eval.section.disagreements": ("채점과 값 검사가 엇갈린 곳", "Where judge and planted values disagree"),
    "eval.section.details": ("자세히", "Details"),
    "eval.fact.when": ("날짜", "Date"),
    "eval.fact.model": ("대화 모델", "Chat model"),
    "eval.fact.side": ("요약·채점 모델", "Summaries and judge"),
    "eval.fact.scenarios": ("시나리오", "Scenarios"),
    "eval.fact.rates": ("압축률", "Compression rates"),
    "eval.fact.runs": ("반복", "Runs"),
    "eval.fact.results": ("결과", "Results"),
    "eval.fact.spent": ("시간과 비용", "Time and money"),
    "eval.column.scenario": ("시나리오", "scenario"),
    "eval.column.rate": ("압축률", "rate"),
    "eval.column.form": ("기억 형태", "memory"),
    "eval.column.recall": ("사실 보존", "facts held"),
    "eval.column.stale": ("옛 값", "stale"),
    "eval.column.leaks": ("샌 값", "leaks"),
    "eval.column.relevance": ("관련성", "relevance"),
    "eval.column.completeness": ("완전성", "completeness"),
    "eval.column.accuracy": ("정확성", "accuracy"),
    "eval.column.noise": ("노이즈", "noise"),
    "eval.column.overall": ("채점", "judge"),
    "eval.column.spread": ("편차", "spread"),
    "eval.column.right": ("정답", "answer"),
    "eval.column.unscored": ("점수 없음", "unscored"),
    "eval.column.tokens": ("토큰", "tokens"),
    "eval.column.seconds": ("초", "seconds"),
    "eval.column.usd": ("비용", "cost"),
    "eval.form.none": ("없음", "none"),
    "eval.form.turns": ("최근 턴", "last turns"),
    "eval.form.chunks": ("요약", "chunk summaries"),
    "eval.form.recursive": ("장기 기억", "long-term memory"),
    "eval.form.observations": ("관찰 기록", "observations"),
    "eval.form.all": ("모두", "all together"),
    "eval.form.full": ("전체 대화", "full history"),
    # chat
    "chat.welcome": (
        "{name}와 대화합니다. /help 도움말, Ctrl-C 답변 멈춤, Ctrl-D 끝내기",
        "Talking to {name}. /help for help, Ctrl-C stops an answer, Ctrl-D ends.",
    ),
    "chat.model": ("모델을 준비하는 중", "Getting the model ready"),
    "chat.stopped": ("(멈춤)", "(stopped)"),
    "chat.cut_off": (
        "답변이 {tokens:,}토큰 한도에서 잘렸습니다. 더 길게 받으려면 GIEOK_ANSWER_TOKENS를 늘리세요.",
        "The answer was cut off at its limit of {tokens:,} tokens. Raise GIEOK_ANSWER_TOKENS for longer answers.",
    ),
    "chat.tool": ("도구 {name}: {result}", "tool {name}: {result}"),
    "chat.summary": (
        "{first}-{last}턴 요약: {original}자 → {summary}자",
        "turns {first}-{last} summarised: {original} → {summary} characters",
    ),
    "chat.summary.one": (
        "{first}턴 요약: {original}자 → {summary}자",
        "turn {first} summarised: {original} → {summary} characters",
    ),
    "chat.summary_failed.one": (
        "{first}턴은 요약하지 못해 원문 그대로 둡니다.",
        "turn {first} could not be summarised and stays as it is.",
    ),
    "chat.summary_failed": (
        "{first}-{last}턴은 요약하지 못해 원문 그대로 둡니다.",
        "turns {first}-{last} could not be summarised and stay as they are.",
    ),
    "chat.away": (
        "지금은 장기 기억을 읽을 수 없습니다. 대화는 기억 없이 계속됩니다.",
        "Long-term memory cannot be read now. The chat continues without it.",
    ),
    "chat.retry": ("/retry로 다시 시도할 수 있습니다.", "/retry tries again."),
    "chat.private": (
        "비공개 대화입니다. 어디에도 저장하지 않으며, /new나 끝내기를 하면 완전히 사라집니다.",
        "A private conversation: nothing of it is stored, and it is gone for good with /new or the end.",
    ),
    "chat.private_prompt": ("(비공개) › ", "(private) › "),
    "chat.private_ended": ("비공개 대화가 사라졌습니다.", "The private conversation is gone."),
    "chat.private_goes_on": (
        "비공개 대화는 저장된 대화를 이어 갈 수 없습니다. --session이나 --private 중 하나만 쓰세요.",
        "A private conversation cannot go on with a stored one: use --session or --private.",
    ),
    "chat.new": ("새 대화를 시작했습니다.", "A new conversation."),
    "chat.opened": ("대화를 열었습니다: {title}", "Opened: {title}"),
    "chat.none": ("아직 없습니다.", "None yet."),
    "chat.unknown": ("{command} 명령은 없습니다. /help를 보세요.", "There is no command {command}; see /help."),
    "chat.wants": (
        "{command} 뒤에 값이 필요합니다. 예: {example}",
        "{command} wants a value after it, such as {example}",
    ),
    "chat.rate": ("다음 요약부터 압축률 {rate}", "Compression rate {rate} from the next summary on"),
    "chat.not_begun": (
        "아직 시작한 대화가 없습니다. 메시지를 보내거나 /open으로 대화를 여세요.",
        "No conversation has begun yet: send a message, or open one with /open.",
    ),
    "chat.interrupted": ("멈추었습니다.", "Stopped."),
    "chat.exported": ("대화를 {file}에 저장했습니다.", "The conversation was written to {file}."),
    "chat.exported_private": (
        "비공개 대화를 {file}에 저장했습니다. 대화가 끝나도 이 파일은 남습니다.",
        "The private conversation was written to {file}. This file stays when the conversation is gone.",
    ),
    # /memory and /entities
    "memory.off": ("장기 기억을 꺼 두었습니다 (GIEOK_MEMORY).", "Long-term memory is off (GIEOK_MEMORY)."),
    "memory.private": ("비공개 대화에는 장기 기억이 없습니다.", "A private conversation has no long-term memory."),
    "memory.head": (
        "장기 기억{version} · {room:,}토큰 중 {tokens:,}토큰",
        "Long-term memory{version} · {tokens:,} of {room:,} tokens",
    ),
    "profile.head": (
        "사용자에 관한 사실 (토큰 {tokens:,} / {room:,}):",
        "About the user ({tokens:,} of {room:,} tokens):",
    ),
    "memory.none": ("아직 기억이 없습니다.", "No memory yet."),
    "memory.pinned": ("고정", "pinned"),
    "memory.waiting": (
        "아직 기억에 반영되지 않은 턴: {turns} (원문 그대로 보관)",
        "Turns that are not in the memory yet: {turns} (kept word for word)",
    ),
    "work.head": ("답변 밖에서 하는 일: {work}", "Work beside the answers: {work}"),
    "work.running": ("{name} ({seconds}초째)", "{name} (for {seconds} s)"),
    "work.waiting": ("{name} (대기)", "{name} (waiting)"),
    "work.name.summary": ("요약", "summary"),
    "work.name.rewrite": ("모델의 요약", "summaries by the model"),
    "work.name.remake": ("새 압축률의 요약", "summaries at the new rate"),
    "work.name.imported": ("가져온 대화의 요약", "summaries of the import"),
    "work.name.title": ("제목", "title"),
    "work.name.memory": ("장기 기억", "long-term memory"),
    "work.name.turns": ("지난 대화 색인", "indexing past turns"),
    "work.name.read_ahead": ("미리 읽기", "reading ahead"),
    "memory.cut": (
        "예산을 넘어 프롬프트에서 빠지는 문장 {count}개:",
        "Sentences left out of the prompt, because they are over budget: {count}",
    ),
    "entities.head": (
        "기억한 값 {count}개 · {room:,}토큰 중 {tokens:,}토큰",
        "Remembered values: {count} · {tokens:,} of {room:,} tokens",
    ),
    "entities.none": ("아직 기억한 값이 없습니다.", "No remembered values yet."),
    "entities.turn": ("{turn}턴", "turn {turn}"),
    "entities.before": ("이전 대화", "an earlier conversation"),
    "entities.cut": ("예산을 넘어 프롬프트에서 빠짐", "over budget, left out of the prompt"),
    # /rag
    "rag.off": ("문서 검색을 꺼 두었습니다 (GIEOK_RETRIEVAL).", "Document search is off (GIEOK_RETRIEVAL)."),
    "rag.none": (
        "찾을 문서가 없습니다. 문서를 추가하세요: python cli.py index 경로",
        "There are no documents to search. Add some: python cli.py index PATH",
    ),
    "rag.example": ("/rag 요약 압축률을 바꾸는 방법", "/rag how to change the compression rate"),
    "rag.score": ("점수 {score:.2f}", "score {score:.2f}"),
    "rag.others": ("모델에 전달하지 않는 다른 후보:", "Other candidates, which the model is not given:"),
    # /context
    "context.head": ("{number}턴의 프롬프트", "The prompt of turn {number}"),
    "context.part": ("부분", "part"),
    "context.tokens": ("토큰", "tokens"),
    "context.budget": ("예산", "budget"),
    "context.items": ("내용", "holds"),
    "context.total": ("합계", "total"),
    "context.left_out": ("빠지거나 줄인 내용", "Left out or shortened"),
    "context.full": (
        "대화 전체를 그대로 보내면 {full:,}토큰 (이 프롬프트보다 {saved:+,})",
        "The whole history would take {full:,} tokens ({saved:+,} against this prompt)",
    ),
    "context.estimated": ("토큰 수는 어림한 값입니다.", "The tokens are estimates."),
    "context.making": ("요약을 아직 만들고 있는 턴: {turns}", "Turns whose summary is still to be made: {turns}"),
    "part.instructions": ("이 대화의 시스템 프롬프트", "own system prompt"),
    "part.system": ("시스템과 도구", "system and tools"),
    "part.client_system": ("클라이언트의 시스템 텍스트", "system text of the client"),
    "part.summaries": ("대화 요약", "summaries"),
    "part.pinned": ("고정한 턴", "pinned turns"),
    "part.short": ("이전 턴 원문", "earlier turns, in full"),
    "part.recent": ("최근 턴 원문", "recent turns"),
    "part.profile": ("사용자에 관한 사실", "facts about the user"),
    "part.memory": ("장기 기억", "long-term memory"),
    "part.entities": ("기억한 값", "remembered values"),
    "part.turns": ("질문과 맞는 지난 대화", "past turns that fit"),
    "part.retrieval": ("검색 문서", "documents"),
    "part.world": ("세계 상태", "world state"),
    "part.time": ("시각", "time"),
    "part.hint": ("답변 지침", "answer instructions"),
    "part.current": ("현재 턴", "current turn"),
    "part.question": ("질문", "question"),
    "part.images": ("이미지", "images"),
    "part.form": ("답변 형식", "form of the answer"),
    "part.unfit": ("형식에 맞지 않은 답변", "answer that did not fit the form"),
    "part.form_again": ("다시 답해 달라는 요청", "request for another answer"),
    "reason.summarised": ("요약으로 대신함", "replaced by a summary"),
    "reason.over_budget": ("프롬프트의 요약보다 오래됨", "older than the summaries in the prompt"),
    "reason.unsummarised": (
        "아직 요약이 없고 최근 대화의 예산을 넘음",
        "without a summary yet, over the budget of recent turns",
    ),
    "reason.context_full": ("컨텍스트 길이를 넘음", "beyond the context window"),
    "reason.casual": ("가벼운 대화라서 생략", "left out as small talk"),
    "reason.profile_cut": ("예산을 넘은 사용자에 관한 사실", "facts about the user over the budget"),
    "reason.memory_cut": ("기억 예산을 넘은 문장", "sentences over the memory budget"),
    "reason.entities_cut": ("기억 예산을 넘은 값", "values over the memory budget"),
    "reason.memory_away": ("장기 기억에 연결할 수 없음", "long-term memory unavailable"),
    "reason.turns_cut": ("지난 대화 예산을 넘음", "past turns over their budget"),
    "reason.below_floor": ("질문과 거의 맞지 않는 지난 대화", "past turns that hardly fit the question"),
    "reason.documents_budget": ("검색 문서 예산을 넘음", "over the document budget"),
    # /eval
    "judge.no_question": (
        "아직 질문이 없습니다. 무엇에 대해 평가할지 적으세요. 예: /eval 아까 말한 예산이 얼마였지?",
        "There is no question yet. Say what to judge for, such as: /eval What was the budget I mentioned?",
    ),
    "judge.running": ("모델이 기억을 평가하는 중", "The model is judging the memory"),
    "judge.query": ("질문: {query}", "Query: {query}"),
    "judge.overall": ("종합 {overall:.1f} / 100", "Overall {overall:.1f} / 100"),
    "judge.score": ("{criterion} {score:g} / 10 · {band}", "{criterion} {score:g} of 10 · {band}"),
    "judge.relevance": ("관련성", "Relevance"),
    "judge.completeness": ("완전성", "Completeness"),
    "judge.accuracy": ("정확성", "Accuracy"),
    "judge.noise": ("노이즈(낮을수록 좋음)", "Noise (lower is better)"),
    "judge.helpful": ("도움이 되는 정보", "Helpful"),
    "judge.missing": ("있었으면 좋았을 정보", "Missing"),
    "judge.summary": ("한 줄 평가: {summary}", "Verdict: {summary}"),
    "judge.stated": (
        "모델이 직접 적은 종합 점수({stated:g}점)는 공식으로 계산한 점수와 다릅니다.",
        "The model's own overall score is {stated:g}, which differs from the score by the formula.",
    ),
    "judge.empty": (
        "기억이 비어 있어 모델에 묻지 않았습니다. 모든 기준이 0점이며, 공식으로는 {overall:g}점입니다.",
        "The memory is empty, so no model was asked. Every criterion is 0, which the formula makes {overall:g} of 100.",
    ),
    "judge.unscored": ("채점하지 못했습니다: {why}", "Not scored: {why}"),
    "judge.passed": (
        "평가 모델 {model}: 보정 검사를 통과했습니다.",
        "The judge {model} passed its calibration.",
    ),
    "judge.failed": (
        "✗ 평가 모델 {model}: 보정 검사를 통과하지 못했으니 이 점수를 믿지 마세요.",
        "✗ The judge {model} failed its calibration: do not rely on these scores.",
    ),
    "judge.unknown": (
        "? 평가 모델 {model}: 보정 검사를 한 적이 없어 이 점수를 얼마나 믿을 수 있는지 모릅니다.",
        "? The judge {model} was never calibrated, so nobody knows how far these scores can be relied on.",
    ),
    "judge.small": (
        "이렇게 작은 모델이 매긴 점수는 기준으로 삼을 수 없습니다.",
        "The scores of a model as small as this one are no measure.",
    ),
    "band.relevance.0": ("질문에 바로 답이 되는 정보가 있음", "clearly holds what answers the query"),
    "band.relevance.1": ("관련 정보가 있으나 간접적", "related, but indirect"),
    "band.relevance.2": ("일부만 관련 있음", "related in part"),
    "band.relevance.3": ("거의 관련 없음", "hardly related"),
    "band.relevance.4": ("전혀 관련 없음", "not related"),
    "band.completeness.0": ("필요한 맥락이 모두 있음", "all of the context is there"),
    "band.completeness.1": ("대부분 있고 일부 빠짐", "most of it is there, something is missing"),
    "band.completeness.2": ("기본 맥락만 있음", "only the basics"),
    "band.completeness.3": ("맥락이 거의 없음", "hardly any context"),
    "band.completeness.4": ("맥락이 전혀 없음", "no context"),
    "band.accuracy.0": ("정확하고 믿을 만함", "correct and reliable"),
    "band.accuracy.1": ("대체로 정확하고 오차가 작음", "mostly correct, small errors"),
    "band.accuracy.2": ("틀린 내용이 섞임", "partly wrong"),
    "band.accuracy.3": ("상당 부분 틀림", "wrong in large part"),
    "band.accuracy.4": ("모두 틀림", "all wrong"),
    "band.noise.0": ("거의 없음", "hardly any"),
    "band.noise.1": ("조금 있음", "a little"),
    "band.noise.2": ("있지만 핵심은 보임", "some, but the point is visible"),
    "band.noise.3": ("많아서 핵심을 찾기 어려움", "much, the point is hard to find"),
    "band.noise.4": ("너무 많아 방해가 됨", "so much that it hinders"),
    "a2a.answer": (
        "답은 데이터 파트로 보내 주세요: {shape}. value에는 답의 값을 넣습니다.",
        'Answer with a data part: {shape}; "value" holds what an answer says.',
    ),
    "a2a.again": (
        "답을 읽지 못했습니다. 데이터 파트로 다시 보내 주세요: {shape}. value에는 답의 값을 넣습니다.",
        'That answer could not be read. Answer with a data part: {shape}; "value" holds what an answer says.',
    ),
    "a2a.plainly": ("«네»나 «아니요»라고만 답해도 됩니다.", "A plain «yes» or «no» will do, too."),
    "waiting.us": ("기억", "Gieok"),
    "waiting.approve": ("{server}의 도구 {tool}을(를) 실행할까요?", "May {server} run {tool}?"),
    "waiting.choose": ("여쭤볼 것이 있습니다.", "A question for you."),
    "waiting.form": ("{server}에서 몇 가지 값을 묻습니다.", "{server} asks for some values."),
    "waiting.client": (
        "질문을 보낸 프로그램의 도구 {tool}의 결과를 기다립니다.",
        "This waits for {tool}, a tool of the program that asked.",
    ),
    "waiting.login": (
        "{server}에서 로그인을 요청합니다. 이 주소를 브라우저에서 여세요.",
        "{server} asks you to sign in. Open this address in a browser.",
    ),
    "waiting.decide": ("1) 이번만 2) 항상 3) 아니요: ", "1) once 2) always 3) no: "),
    "waiting.visited": ("1) 로그인했습니다 3) 거절: ", "1) I have signed in 3) refuse: "),
    "waiting.words": ("번호 또는 답변 (빈 줄: 거절): ", "Number or answer (empty line: refuse): "),
    "waiting.unreadable": ("이 칸에 맞지 않는 값입니다: {kind}", "This field takes another kind of value: {kind}"),
    "waiting.later": (
        "이 대화는 답을 기다립니다. 이 대화에서 나중에 답하거나 웹 화면에서 답할 수 있습니다: python cli.py run",
        "The conversation waits for your answer. Answer later in this conversation, or in the page: python cli.py run",
    ),
    "ask.remember": ("기억할까요? {what} [{yes}/{no}]", "Remember this? {what} [{yes}/{no}]"),
    "ask.forget": ("잊을까요? {what} [{yes}/{no}]", "Forget this? {what} [{yes}/{no}]"),
    "ask.pick": ("어느 것을 잊을까요? {what} [번호/{no}]", "Which should be forgotten? {what} [numbers/{no}]"),
    "ask.yes": ("네(y)", "yes(y)"),
    "ask.no": ("아니요(n)", "no(n)"),
    "ask.done": ("그렇게 했습니다.", "Done."),
    "ask.left": ("그대로 두었습니다.", "Left as it was."),
    "ask.later": (
        "아직 정하지 않았습니다. 이 대화에서 나중에 입력하거나 웹 화면에서 답할 수 있습니다: python cli.py run",
        "Not decided yet. Answer later in this conversation, or in the page: python cli.py run",
    ),
    "help.new": ("새 대화", "a new conversation"),
    "help.private": ("저장하지 않는 비공개 대화", "a private conversation, stored nowhere"),
    "help.sessions": ("지난 대화 목록", "the conversations so far"),
    "help.open": ("목록의 번호로 대화 열기", "open one by its number in the list"),
    "help.load": ("/open과 같음", "the same as /open"),
    "help.summary": ("이 대화의 요약", "the summaries of this conversation"),
    "help.rate": ("요약 압축률 (0.1–0.5)", "the compression rate (0.1 to 0.5)"),
    "help.retry": ("실패한 턴 다시 시도", "the failed turn again"),
    "help.eval": (
        "장기 기억이 질문에 도움이 되는지 평가 (질문이 없으면 마지막 질문)",
        "judge whether the memory helps (the last question, or /eval QUERY)",
    ),
    "help.memory": ("장기 기억", "the long-term memory"),
    "help.entities": ("기억한 값과 그 턴", "the remembered values and their turns"),
    "help.rag": ("문서에서 찾기", "search the documents"),
    "help.context": ("다음 프롬프트의 내용과 토큰", "the parts of the next prompt and their tokens"),
    "help.export": (
        "대화를 파일로 저장 (.md는 마크다운, .html은 웹 페이지, 나머지는 JSON)",
        "write the conversation to a file (.md: Markdown, .html: a web page, else JSON)",
    ),
    "help.quit": ("끝내기", "end"),
    "help.help": ("이 도움말", "this help"),
    # MCP: what the client's user is asked
    "mcp.ask.approve": (
        "도구 {tool}을(를) 실행해도 될까요? {server}\n인수: {arguments}",
        "May the tool {tool} run? {server}\nArguments: {arguments}",
    ),
    "mcp.ask.choose": ("{text}", "{text}"),
    "mcp.ask.form": ("{server}에서 묻습니다: {text}", "{server} asks: {text}"),
    "mcp.ask.login": ("{server}에 로그인해야 합니다. {text}", "{server} needs you to log in. {text}"),
    "mcp.ask.once": ("이번만 허용", "Allow once"),
    "mcp.ask.always": ("항상 허용", "Always allow"),
    "mcp.ask.no": ("허용하지 않음", "Do not allow"),
    "mcp.ask.words": ("직접 쓴 답", "An answer in your own words"),
    "mcp.waiting": (
        "이 대화는 사용자의 답을 기다립니다. 앱에서 질문에 답하면 이어집니다.",
        "This conversation waits for its user: it goes on when the questions are answered in the app.",
    ),
}


def render_phrase(language: Language, key: str, **values: object) -> str:
    """Returns the sentence of ``key`` with its values. Raises ``KeyError`` for an unknown key."""
    return PHRASES[key][0 if language == "ko" else 1].format(**values)


def resolve_language(asked: str, fixed: str) -> Language:
    """Returns the language to speak: the one asked for, else the settings' (``fixed``), else the system's, else
    English; ``auto`` leaves the choice to the next one."""
    for language in (asked, fixed, (locale.getlocale()[0] or "")[:2]):
        if language in ("ko", "en"):
            return "ko" if language == "ko" else "en"
    return "en"
