export default function (component) {
  const { data, parentElement } = component;
  const kept = () => {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith("stActiveTheme")) continue;
      try { return JSON.parse(localStorage.getItem(key)); } catch { return "System"; }
    }
    return "System";
  };
  const press = (name, done) => {
    const menu = document.querySelector('[data-testid="stMainMenuButton"]');
    if (!menu) return;
    menu.click();
    const choose = (tries) => {
      const entry = document.querySelector(`[data-testid="stMainMenuItem-theme-${name}"]`);
      if (!entry) { if (tries) setTimeout(choose, 40, tries - 1); return; }
      entry.click();
      setTimeout(() => {
        if (document.querySelector('[data-testid="stMainMenuPopover"]')) menu.click();
        done();
      }, 60);
    };
    choose(25);
  };
  if (!data.themes.length) {  // no switch is drawn here: only take over what was chosen, maybe in another browser
    if (window.gieokThemeChosen === data.apply) window.gieokThemeChosen = "";
    if (data.apply && !window.gieokThemeChosen && window.gieokTheme !== data.apply) {
      window.gieokTheme = data.apply;
      if (kept() !== data.apply) press(data.apply, () => {});
    }
    return;
  }
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
  const take = (name) => {
    window.gieokTheme = window.gieokThemeChosen = name;  // holds against the earlier theme until it is kept
    press(name, () => {
      group.querySelector('[aria-checked="true"]')?.focus();
      component.setTriggerValue("theme", name);
    });
    show(name);
  };
  for (const [name, label] of data.themes) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.dataset.theme = name;
    button.textContent = label;
    button.onclick = () => take(name);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...group.children];
      const next = all[(all.indexOf(button) + step + all.length) % all.length];
      next.focus();
      take(next.dataset.theme);
    };
    group.appendChild(button);
  }
  show(kept());
}
