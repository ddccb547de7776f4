"""A short tour of what stands beside a conversation, after the first answer; once per browser, and again from the help.

It runs in the browser: going through it costs no run of the page, and that it was seen is kept in the browser's local
storage, so that it belongs to the person and not to the shared store. By itself it waits while somebody writes, and
takes the focus from no field.
"""

from __future__ import annotations

import streamlit as st

from component.catalogue import Words

ASKED = "tour-asked"
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("summaries", ('.st-key-panel [data-testid="stTabs"] [role="tablist"]', ".st-key-open-panel button")),
    ("history", (".st-key-panel-history",)),
    ("prompt", (".st-key-panel-prompt",)),
    ("rate", (".st-key-rate",)),
    (
        "actions",
        (
            '[data-testid="stLayoutWrapper"]:nth-last-child(1 of :has(> [class*="st-key-answer-"])) '
            '[class*="st-key-actions-"]',
        ),
    ),
)
"""What is pointed at, with the places in order of preference; what the screen does not show is skipped."""

_SCRIPT = """
export default function (component) {
  const { data } = component;
  const SEEN = "gieok-tour";
  const seen = () => { try { return localStorage.getItem(SEEN) === "seen"; } catch { return true; } };
  const remember = () => { try { localStorage.setItem(SEEN, "seen"); } catch { /* private window */ } };
  const visible = (element) => {
    const box = element && element.getBoundingClientRect();
    return box && box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
      && getComputedStyle(element).visibility !== "hidden";
  };
  const find = (places) => places.flatMap((place) => [...document.querySelectorAll(place)]).find(visible);
  if (!data.serial || window.gieokTour === data.serial) return;
  window.gieokTour = data.serial;
  if (!data.asked && seen()) return;
  setTimeout(begin, 400);

  function begin() {
  const field = document.activeElement?.closest("input, textarea");
  const writing = field?.value || document.querySelector('[data-testid="stChatInput"] textarea')?.value;
  if (!data.asked && (writing || document.querySelector(".st-key-live"))) {
    setTimeout(begin, 500);  // whoever writes is not disturbed
    return;
  }
  document.getElementById("gieok-tour")?.remove();
  document.getElementById("gieok-ring")?.remove();

  const make = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    return made;
  };
  const box = make("div", "gieok-tour");
  box.id = "gieok-tour";
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-labelledby", "gieok-tour-title");
  box.setAttribute("aria-describedby", "gieok-tour-text");
  const ring = make("div", "gieok-ring");
  ring.id = "gieok-ring";
  const title = make("h2"), text = make("p"), count = make("span", "gieok-tour-count");
  title.id = "gieok-tour-title";
  text.id = "gieok-tour-text";
  const row = make("div", "gieok-tour-row");
  const skip = make("button", "", data.words.skip), back = make("button", "", data.words.back);
  const next = make("button", "gieok-tour-next", data.words.next);
  for (const each of [skip, back, next]) each.type = "button";
  row.append(count, skip, back, next);
  box.append(title, text, row);

  let at = -1, watch = 0, quiet = !data.asked && field;
  const before = document.activeElement;
  const shown = data.steps.filter((step) => find(step.places));
  const end = () => {
    remember();
    clearInterval(watch);
    box.remove();
    ring.remove();
    if (before && document.contains(before) && before !== document.body) before.focus();
  };
  const place = () => {
    const target = find(shown[at].places);
    if (!target) return;
    const spot = target.getBoundingClientRect(), pad = 6;
    const top = Math.max(4, spot.top - pad), bottom = Math.min(innerHeight - 4, spot.bottom + pad);
    Object.assign(ring.style, {
      top: `${top}px`, left: `${Math.max(4, spot.left - pad)}px`,
      width: `${Math.min(spot.width + 2 * pad, innerWidth - 8)}px`, height: `${Math.max(24, bottom - top)}px`,
    });
    const width = Math.min(340, innerWidth - 24), height = box.offsetHeight;
    let left = spot.left - width - 24, y = Math.max(12, Math.min(spot.top, innerHeight - height - 12));
    if (left < 12) left = spot.right + 24;
    if (left + width > innerWidth - 12) {
      left = Math.max(12, Math.min(spot.left, innerWidth - width - 12));
      y = bottom + 14 + height < innerHeight ? bottom + 14 : Math.max(12, top - height - 14);
    }
    Object.assign(box.style, { width: `${width}px`, left: `${left}px`, top: `${y}px` });
  };
  const go = (to) => {
    if (to >= shown.length) return end();
    at = to;
    title.textContent = shown[at].title;
    text.textContent = shown[at].text;
    count.textContent = `${at + 1}/${shown.length}`;
    back.hidden = at === 0;
    const last = at === shown.length - 1;
    next.textContent = last ? data.words.done : data.words.next;
    skip.hidden = last;
    find(shown[at].places)?.scrollIntoView({ block: "nearest" });
    place();
    const live = document.getElementById("gieok-live");
    if (!quiet) next.focus({ preventScroll: true });
    else if (live) live.textContent = `${shown[at].title}. ${shown[at].text}`;
    quiet = false;
  };
  skip.onclick = end;
  back.onclick = () => go(at - 1);
  next.onclick = () => go(at + 1);
  box.onkeydown = (event) => {
    if (event.key === "Escape") { event.stopPropagation(); end(); }
    if (event.key === "ArrowRight") next.click();
    if (event.key === "ArrowLeft" && at) go(at - 1);
  };
  if (!shown.length) return;
  document.body.append(ring, box);
  watch = setInterval(() => (document.contains(box) ? place() : clearInterval(watch)), 250);
  go(0);
  }
}
"""

_component = st.components.v2.component("gieok_tour", js=_SCRIPT)


def ask_tour() -> None:
    """Begins the tour in the next run."""
    st.session_state[ASKED] = True


def draw_tour(words: Words, ended: bool) -> None:
    """``ended``: an answer of this page has just been completed; whoever has seen the tour is not shown it again."""
    serial, asked = st.session_state.get("tour", (0, False))
    if st.session_state.pop(ASKED, False):
        serial, asked = serial + 1, True
    elif ended and not serial:
        serial, asked = 1, False
    st.session_state["tour"] = (serial, asked)
    data: dict[str, object] = {"serial": serial, "asked": asked}
    data["words"] = {name: words(f"tour.{name}") for name in ("next", "back", "skip", "done")}
    data["steps"] = [
        {"title": words(f"tour.{name}.title"), "text": words(f"tour.{name}.text"), "places": list(places)}
        for name, places in STEPS
    ]
    with st.container(key="tour"):
        _component(key="tour-component", data=data)
