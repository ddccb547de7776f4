// The palette of actions: a dialog with one input and one list. The dialog lies on the body, because the place of the
// component is not seen. There is one for the page, whichever run of the page drew the component last.
const INPUT = ".st-key-composer textarea";
const SEARCH = ".gieok-list .search";
const MOST = 12;

const make = () => {
  const dialog = document.createElement("dialog");
  dialog.className = "gieok-palette";
  const input = document.createElement("input");
  const list = document.createElement("ul");
  input.type = "text";
  input.autocomplete = "off";
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "true");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", "gieok-palette-list");
  list.id = "gieok-palette-list";
  list.setAttribute("role", "listbox");
  dialog.append(input, list);
  document.body.appendChild(dialog);
  const state = { dialog, input, list, shown: [], at: 0, slash: false, back: null, component: null };
  input.addEventListener("input", () => { state.at = 0; draw(state); });
  input.addEventListener("keydown", (event) => press(state, event));
  list.addEventListener("click", (event) => {
    const option = event.target.closest("li");
    if (option) choose(state, Number(option.dataset.place));
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) shut(state, true); });
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); shut(state, true); });
  dialog.addEventListener("close", () => dialog.removeAttribute("role"));  // a browser may close it by itself
  return state;
};

const find = (state) => {
  const { items, turns, removable, words } = state.component.data;
  const query = state.input.value.trim();
  const parts = query.replace(/^\//, "").toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const shown = items.filter((item) => {
    const text = `${item.label} ${item.also ?? ""}`.toLocaleLowerCase();
    return (item.id !== "copy" || copyButton(state)) && parts.every((part) => text.includes(part));
  });
  if (query) shown.splice(MOST);
  const number = Number(/(?:^|\D)(\d{1,6})$/.exec(query)?.[1] ?? 0);
  if (number >= 1 && number <= turns) {
    const says = (label) => parts.every((part) => label.toLocaleLowerCase().includes(part.replace(/^#/, "")));
    const go = words.turn.replace("{number}", number);
    if (says(go)) shown.unshift({ id: `turn-${number}`, label: go, icon: "my_location" });
    const remove = words.remove.replace("{number}", number);  // behind all others: it is never chosen by a mere Enter
    if (removable && says(remove)) shown.push({ id: `remove-${number}`, label: remove, icon: "delete" });
  }
  const side = items.some((item) => item.id === "side") && /^\/?btw\s+(.+)$/i.exec(query)?.[1];
  if (side) shown.unshift({ id: "side", label: words.side.replace("{text}", () => side), icon: "chat_bubble", text: side });
  if (query && state.slash) shown.push({ id: "write", label: words.write.replace("{text}", () => query), icon: "keyboard" });
  if (query) shown.push({ id: "find", label: words.find.replace("{query}", () => query), icon: "search" });
  return shown;
};

// The button under the last answer; none where that is not shown.
const copyButton = (state) => document.querySelector(`.st-key-actions-${state.component.data.turns} .gieok-copy`);

const draw = (state) => {
  state.shown = find(state);
  state.at = Math.max(0, Math.min(state.at, state.shown.length - 1));
  state.list.replaceChildren(...state.shown.map((item, place) => {
    const option = document.createElement("li");
    option.id = `gieok-palette-${place}`;
    option.dataset.place = place;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", String(place === state.at));
    const icon = document.createElement("span");
    icon.className = "icon";
    icon.setAttribute("aria-hidden", "true");
    icon.textContent = item.icon;
    const label = document.createElement("span");
    label.textContent = item.label;
    option.append(icon, label);
    return option;
  }));
  const current = state.list.children[state.at];
  if (current) state.input.setAttribute("aria-activedescendant", current.id);
  else state.input.removeAttribute("aria-activedescendant");
  current?.scrollIntoView({ block: "nearest" });
};

const open = (state, slash) => {
  if (state.dialog.open) return;
  const { words } = state.component.data;
  state.slash = slash;
  state.back = document.activeElement;
  state.at = 0;
  state.input.value = "";
  state.input.placeholder = words.ask;
  state.input.setAttribute("aria-label", words.ask);
  state.list.setAttribute("aria-label", words.title);
  state.dialog.setAttribute("aria-label", words.title);
  draw(state);
  state.dialog.setAttribute("role", "dialog");  // only while it is open: other parts of the page look for open windows
  state.dialog.showModal();
  state.input.focus();
};

// Closes the palette. ``keep``: what was typed after a slash goes on as a message, and the focus goes back.
const shut = (state, keep) => {
  const text = `/${state.input.value}`;
  state.dialog.close();
  state.dialog.removeAttribute("role");
  if (!keep) return;
  const place = state.slash ? document.querySelector(INPUT) : state.back;
  place?.focus?.();
  if (!state.slash || !place) return;
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(place, text);
  place.dispatchEvent(new Event("input", { bubbles: true }));  // React takes over what such an event announces
};

const choose = (state, place) => {
  const item = state.shown[place];
  if (!item) return;
  if (item.id === "write") { shut(state, true); return; }
  const query = state.input.value.trim();
  shut(state, false);
  if (item.id === "search" || item.id === "find") { search(item.id === "find" ? query : ""); return; }
  if (item.id === "copy") { copyButton(state)?.click(); return; }
  state.component.setTriggerValue("chosen", { id: item.id, text: item.text ?? "", at: Date.now() });
};

const search = (query) => {
  document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();  // when the sidebar is folded
  const go = (tries) => {
    const field = document.querySelector(SEARCH);
    if (field?.checkVisibility() && field.getBoundingClientRect().left >= 0) {
      field.focus();
      if (query) {
        field.value = query;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
    } else if (tries) setTimeout(go, 50, tries - 1);
  };
  go(40);
};

const press = (state, event) => {
  if (event.isComposing || event.keyCode === 229) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) state.at = (state.at + step + state.shown.length) % Math.max(1, state.shown.length);
  else if (event.key === "Home" && event.ctrlKey) state.at = 0;
  else if (event.key === "Enter") choose(state, state.at);
  else if (event.key === "Escape") shut(state, true);
  else if (event.key === "Backspace" && state.slash && !state.input.value) { state.slash = false; shut(state, false); document.querySelector(INPUT)?.focus(); }
  else return;
  event.preventDefault();
  event.stopPropagation();  // Esc stops no answer, Enter sends nothing
  if (step) draw(state);
};

export default function (component) {
  const state = (window.gieokPalette ??= make());
  state.component = component;
  if (state.dialog.open) draw(state);
  if (window.gieokPaletteKeys) return;
  window.gieokPaletteKeys = true;
  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const palette = window.gieokPalette;
    const other = document.querySelector('[role="dialog"]:not(.gieok-palette)');  // a window is open: it comes first
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      if (palette.dialog.open) shut(palette, false);
      else if (!other) open(palette, false);
    } else if (event.key === "/" && !other && event.target.closest?.(INPUT) && !event.target.value) {
      event.preventDefault();
      open(palette, true);
    }
  });
}
