"""Light, dark, or as the system has it. Streamlit keeps the switch in its own menu, in English; this one works it.

Streamlit offers Python no way to set the theme (1.67), so the component presses its menu's entries in the browser; its
choice is kept by the browser. Nothing runs anew, so that nothing that was typed is lost.
"""

from __future__ import annotations

import streamlit as st

from component.catalogue import Words

THEMES = ("System", "Light", "Dark")
_SCRIPT = """
export default function (component) {
  const { data, parentElement } = component;
  const kept = () => {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith("stActiveTheme")) continue;
      try { return JSON.parse(localStorage.getItem(key)); } catch { return "System"; }
    }
    return "System";
  };
  let group = parentElement.querySelector("[role=radiogroup]");
  if (!group) {
    group = document.createElement("div");
    group.setAttribute("role", "radiogroup");
    group.className = "gieok-theme";
    parentElement.appendChild(group);
  }
  group.setAttribute("aria-label", data.label);
  group.replaceChildren();
  const show = (name) => {
    for (const each of group.children) {
      const on = each.dataset.theme === name;
      each.setAttribute("aria-checked", String(on));
      each.tabIndex = on ? 0 : -1;
    }
  };
  const press = (name) => {
    const menu = document.querySelector('[data-testid="stMainMenuButton"]');
    if (!menu) return;
    menu.click();
    const choose = (tries) => {
      const entry = document.querySelector(`[data-testid="stMainMenuItem-theme-${name}"]`);
      if (!entry) { if (tries) setTimeout(choose, 40, tries - 1); return; }
      entry.click();
      setTimeout(() => {
        if (document.querySelector('[data-testid="stMainMenuPopover"]')) menu.click();
        group.querySelector('[aria-checked="true"]')?.focus();
      }, 60);
      show(name);
    };
    choose(25);
  };
  for (const [name, label] of data.themes) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.dataset.theme = name;
    button.textContent = label;
    button.onclick = () => press(name);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...group.children];
      const next = all[(all.indexOf(button) + step + all.length) % all.length];
      next.focus();
      press(next.dataset.theme);
    };
    group.appendChild(button);
  }
  show(kept());
}
"""

_component = st.components.v2.component("gieok_theme", js=_SCRIPT, isolate_styles=False)


def draw_theme(words: Words) -> None:
    """The switch."""
    st.caption(words("theme.label"))
    themes = [[name, words(f"theme.{name.lower()}")] for name in THEMES]
    _component(key=f"theme-{words.language}", data={"label": words("theme.label"), "themes": themes})
