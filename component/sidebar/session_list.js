export default function (component) {
  const { parentElement } = component;
  const list = (parentElement.gieokList ??= new SessionList(parentElement));
  list.component = component;
  list.receive(new TextDecoder().decode(component.data));
}

const DEBOUNCE = 250; // milliseconds of rest before what is typed is searched for
const PAGE = 30;

const make = (tag, name = "", text = "", more = {}) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  for (const [key, value] of Object.entries(more)) element.setAttribute(key, value);
  return element;
};
const icon = (name) => make("span", "icon", name, { "aria-hidden": "true" });
const button = (name, label, sign, run, more = {}) => {
  const made = make("button", name, "", { type: "button", ...more });
  if (sign) made.append(icon(sign));
  if (label) made.append(make("span", "label", label));
  made.onclick = run;
  return made;
};

/* The page sends what is to be shown; here lives only what the browser knows: which rows are selected, which one is
   being renamed, which folders are open, what is typed into the search. */
class SessionList {
  constructor(parent) {
    this.selecting = false;
    this.selected = new Set();
    this.editing = null; // { key, value, commit }: the name that is being typed
    this.look = { query: "", counts: { "": PAGE } };
    this.root = make("div", "gieok-list");
    this.bar = make("div", "bar");
    this.search = make("input", "search", "", { type: "search", autocomplete: "off", maxlength: "400" });
    this.tools = make("div", "tools");
    this.about = make("p", "about", "", { role: "status" });
    this.rows = make("div", "rows");
    this.menu = make("div", "menu", "", { popover: "auto", role: "menu" });
    this.bar.append(this.search, this.tools);
    this.root.append(this.bar, this.about, this.rows, this.menu);
    parent.append(this.root);
    this.search.oninput = () => {
      clearTimeout(this.typed);
      this.typed = setTimeout(() => this.ask({ query: this.search.value.trim() }), DEBOUNCE);
    };
    this.root.onpointerdown = () => { this.pressed = true; };
    for (const kind of ["pointerup", "pointercancel"]) {
      addEventListener(kind, () => setTimeout(() => this.release())); // after the click that it belongs to
    }
    this.root.onkeydown = (event) => this.key(event);
    this.root.oncontextmenu = (event) => this.context(event);
    this.root.addEventListener("gieok-escape", (event) => this.escape(event));
    this.menu.addEventListener("beforetoggle", (event) => {
      if (event.newState === "closed") [this.closed, this.closedAt] = [this.anchor, performance.now()];
    });
    this.menu.addEventListener("toggle", (event) => {
      if (event.newState !== "closed") return;
      this.anchor?.setAttribute("aria-expanded", "false");
      if (!document.activeElement || document.activeElement === document.body) this.anchor?.focus();
    });
  }

  receive(text) {
    if (text === this.text) return;
    if (this.editing || this.pressed) { this.waiting = text; return; } // a name is typed, a row is pressed: nothing moves
    this.text = text;
    const first = !this.data;
    this.data = JSON.parse(text);
    if (first) {
      this.look = this.data.look;
      this.search.value = this.look.query;
    }
    this.draw();
  }

  release() {
    this.pressed = false;
    if (this.waiting == null || this.editing) return;
    const text = this.waiting;
    this.waiting = null;
    this.receive(text);
  }

  ask(change) {
    this.look = { ...this.look, ...change };
    this.component.setStateValue("look", this.look);
  }

  act(action, more) {
    this.component.setTriggerValue("act", { do: action, ...more });
  }

  // --- drawing --------------------------------------------------------------------------------

  draw() {
    const { words, hits } = this.data;
    const active = document.activeElement;
    const row = this.rows.contains(active) ? active.closest(".line")?.querySelector("[data-key]") ?? active : null;
    const [focused, place] = [row?.dataset.key, this.lines().indexOf(row)];
    this.search.placeholder = words.search;
    this.search.setAttribute("aria-label", words.search);
    this.about.textContent = hits ? hits.about : "";
    const shown = this.sessions();
    this.selected = new Set([...this.selected].filter((id) => shown.has(id)));
    if (hits) this.selecting = false;
    this.drawTools(shown);
    this.rows.replaceChildren(...(hits ? [this.hits(hits.rows)] : this.groups()));
    this.roving();
    if (!focused) return;
    const lines = this.lines(); // a row that has gone leaves the cursor on the one in its place
    const next = this.named(focused) ?? lines[Math.min(place, lines.length - 1)];
    if (next) { this.stay(next); next.focus({ preventScroll: true }); }
  }

  named(key) {
    return this.rows.querySelector(`[data-key="${CSS.escape(key)}"]`);
  }

  sessions() {
    const { folders, groups } = this.data;
    return new Map([...folders, ...groups].flatMap((each) => each.rows ?? []).map((row) => [row.id, row]));
  }

  drawTools(shown) {
    const { words, hits } = this.data;
    const count = this.selected.size;
    this.root.classList.toggle("selecting", this.selecting);
    if (!this.selecting) {
      const tools = [
        button("tool", "", "create_new_folder", () => this.newFolder([]), { "aria-label": words.newFolder, title: words.newFolder }),
        button("tool", "", "checklist", () => this.select(null), { "aria-label": words.select, title: words.select }),
      ];
      if (!shown.size || hits) tools[1].disabled = true;
      if (hits) tools[0].disabled = true;
      this.tools.replaceChildren(...tools);
      return;
    }
    const chosen = () => [...this.selected];
    const leave = (run) => () => { run(); this.selecting = false; this.selected.clear(); this.draw(); };
    const all = count === shown.size;
    const named = (name) => ({ "aria-label": words[name], title: words[name] });
    const actions = [
      button("tool", words.moveShort, "drive_file_move", (event) => this.openMenu(event.currentTarget, this.places(chosen(), leave)), { title: words.move, "aria-haspopup": "menu" }),
      button("tool", words.export, "download", leave(() => this.act("export", { ids: chosen() }))),
      button("tool", words.delete, "delete", leave(() => this.act("delete", { ids: chosen() }))),
    ];
    for (const action of actions) action.disabled = !count;
    const line = make("div", "actions");
    line.append(...actions);
    this.tools.replaceChildren(
      make("span", "count", words.selected.replace("{count}", count), { role: "status" }),
      button("tool", "", all ? "deselect" : "select_all", () => {
        this.selected = new Set(all ? [] : shown.keys());
        this.draw();
      }, named(all ? "selectNone" : "selectAll")),
      button("tool", "", "close", leave(() => {}), named("selectDone")),
      line,
    );
  }

  groups() {
    const { folders, groups, words, more, trash, none } = this.data;
    const drawn = [];
    if (this.editing?.key === "folder:") drawn.push(this.editor("folder"));
    if (folders.length) {
      const all = make("ul", "", "", { "aria-label": words.folders });
      all.append(...folders.map((folder) => this.folder(folder)));
      drawn.push(all);
    }
    for (const group of groups) {
      const rows = make("ul", "", "", { "aria-label": group.label });
      rows.append(...group.rows.map((row) => this.row(row)));
      drawn.push(make("p", "age", group.label), rows);
    }
    if (none) drawn.push(make("p", "age", none));
    if (more) drawn.push(this.more(""));
    if (trash) drawn.push(button("entry", words.trash, "delete", () => this.act("trash", {}), { "data-key": "trash" }));
    return drawn;
  }

  more(folder) {
    const count = (this.look.counts[folder] ?? PAGE) + PAGE;
    const run = () => this.ask({ counts: { ...this.look.counts, [folder]: count } });
    return button("entry more", this.data.words.more, "expand_more", run, { "data-key": `more:${folder}` });
  }

  folder(folder) {
    const { words } = this.data;
    const item = make("li", "folder");
    if (this.editing?.key === `folder:${folder.id}`) {
      item.append(this.editor("folder"));
    } else {
      const open = button("open", folder.name, folder.rows ? "folder_open" : "folder", () => this.toggle(folder), {
        "data-key": `folder:${folder.id}`, "aria-expanded": String(Boolean(folder.rows)),
      });
      const menu = this.kebab(words.folderMenu.replace("{name}", folder.name), (anchor) => this.openMenu(anchor, this.folderItems(folder)));
      const line = make("div", "line");
      if (folder.here && !folder.rows) line.classList.add("here");
      line.append(open, menu);
      item.append(line);
    }
    if (folder.rows) {
      const rows = make("ul", "inside", "", { "aria-label": folder.name });
      rows.append(...folder.rows.map((row) => this.row(row)));
      if (!folder.rows.length) rows.append(make("li", "empty", words.folderEmpty));
      item.append(rows);
      if (folder.more) item.append(this.more(folder.id));
    }
    return item;
  }

  row(row) {
    const { words, here } = this.data;
    const item = make("li", "line row", "", { "data-id": row.id });
    const hint = `${row.name}\n${row.when}`;
    if (row.id === here) item.classList.add("here");
    if (this.editing?.key === row.id) {
      item.append(this.editor("edit"));
    } else if (this.selecting) {
      const label = make("label", "open", "", { title: hint });
      const box = make("input", "", "", { type: "checkbox", "data-key": row.id });
      box.checked = this.selected.has(row.id);
      box.onchange = () => { this.selected[box.checked ? "add" : "delete"](row.id); this.draw(); };
      label.append(box, make("span", "label", row.title));
      item.append(label);
    } else {
      const open = button("open", row.title, row.busy ? "more_horiz" : "", () => this.component.setTriggerValue("open", { id: row.id }), {
        "data-key": row.id, title: hint,
      });
      if (row.id === here) open.setAttribute("aria-current", "true");
      item.append(open, this.kebab(words.menu.replace("{title}", row.title), (anchor) => this.openMenu(anchor, this.items(row))));
    }
    return item;
  }

  kebab(name, run) {
    const more = { "aria-label": name, "aria-haspopup": "menu", "aria-expanded": "false" };
    return button("kebab", "", "more_vert", (event) => {
      const again = this.closed === event.currentTarget && performance.now() - this.closedAt < 300;
      if (!again) run(event.currentTarget); // else this press has closed its menu
    }, more);
  }

  hits(rows) {
    const all = make("ul");
    all.append(...rows.map((hit, index) => {
      const place = { id: hit.id, number: hit.number, branch: hit.branch };
      const open = button("open hit", hit.title, "", () => this.component.setTriggerValue("open", place), { "data-key": `hit:${index}` });
      if (hit.number !== null) {
        const snippet = make("span", "snippet");
        snippet.append(hit.before, make("mark", "", hit.match), hit.after);
        open.append(snippet);
      }
      const item = make("li", "line row");
      item.append(open);
      return item;
    }));
    return all;
  }

  // --- names that are typed -------------------------------------------------------------------

  editor(sign) {
    const { words } = this.data;
    const { value, commit, label } = this.editing;
    const box = make("div", "line editor");
    const input = make("input", "", "", { type: "text", maxlength: "60", "aria-label": label ?? words.rename });
    input.value = value;
    input.oninput = () => { this.editing.value = input.value; };
    const end = (keep) => {
      if (!this.editing) return;
      const name = input.value.trim();
      const key = this.editing.key;
      this.editing = null;
      if (keep && name !== value) commit(name);
      const text = this.waiting ?? this.text;
      this.waiting = null;
      this.text = null;
      this.receive(text);
      this.named(key)?.focus();
    };
    input.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && !event.isComposing) end(true);
    };
    input.addEventListener("gieok-escape", (event) => { event.stopPropagation(); end(false); });
    input.onblur = () => end(true);
    setTimeout(() => { input.focus(); input.select(); });
    box.append(icon(sign), input);
    return box;
  }

  edit(key, value, label, commit) {
    this.editing = { key, value, label, commit };
    this.draw();
  }

  newFolder(ids) {
    const { words } = this.data;
    this.edit("folder:", "", words.folderName, (name) => this.act("create", { name, ids }));
  }

  // --- menus ----------------------------------------------------------------------------------

  items(row) {
    const { words } = this.data;
    const ids = [row.id];
    return [
      [row.pinned ? words.unpin : words.pin, row.pinned ? "keep_off" : "keep", () => this.act("pin", { ids, on: !row.pinned })],
      [words.rename, "edit", () => this.edit(row.id, row.name, words.rename, (title) => this.act("rename", { ids, title }))],
      [words.move, "drive_file_move", () => this.openMenu(this.anchor, this.places(ids, (run) => run, row.folder))],
      ...(row.story ? [] : [[words.summarise, "compress", () => this.act("summarise", { ids })]]),
      [words.details, "download", () => this.act("export", { ids })],
      [words.selectOne, "check_box", () => this.select(row.id)],
      [words.delete, "delete", () => this.act("delete", { ids })],
    ];
  }

  places(ids, leave, now = null) {
    const { words, folders } = this.data;
    const items = folders.filter((folder) => folder.id !== now)
      .map((folder) => [folder.name, "folder", leave(() => this.act("move", { ids, folder: folder.id }))]);
    if (now !== "") items.push([words.out, "folder_off", leave(() => this.act("move", { ids, folder: "" }))]);
    items.push([words.newFolder, "create_new_folder", () => { leave(() => {})(); this.newFolder(ids); }]);
    return items;
  }

  folderItems(folder) {
    const { words } = this.data;
    const rename = (name) => this.act("folder", { folder: folder.id, name });
    return [
      [words.rename, "edit", () => this.edit(`folder:${folder.id}`, folder.name, words.folderName, rename)],
      [words.folderDelete, "delete", () => this.act("unfold", { folder: folder.id })],
    ];
  }

  openMenu(anchor, items) {
    this.anchor = anchor;
    this.menu.replaceChildren(...items.map(([label, sign, run]) => button("item", label, sign, () => {
      this.closeMenu();
      run();
    }, { role: "menuitem", tabindex: "-1" })));
    this.menu.setAttribute("aria-label", anchor.getAttribute("aria-label") ?? anchor.title);
    setTimeout(() => { // after the menu before it has gone
      if (!this.menu.matches(":popover-open")) this.menu.showPopover();
      anchor.setAttribute("aria-expanded", "true");
      const spot = anchor.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = this.menu;
      const left = Math.max(8, Math.min(spot.right - width, innerWidth - width - 8));
      const below = spot.bottom + 4 + height <= innerHeight - 8;
      const top = below ? spot.bottom + 4 : Math.max(8, spot.top - height - 4);
      Object.assign(this.menu.style, { left: `${left}px`, top: `${top}px` });
      this.menu.firstElementChild?.focus();
    });
  }

  closeMenu() {
    if (!this.menu.matches(":popover-open")) return false;
    this.anchor?.focus({ preventScroll: true }); // first: a window takes no focus after the browser's own way back
    this.menu.hidePopover();
    return true;
  }

  toggle(folder) {
    const { [folder.id]: open, ...others } = this.look.counts;
    this.ask({ counts: open ? others : { ...this.look.counts, [folder.id]: PAGE } });
  }

  select(id) {
    this.selecting = true;
    if (id) this.selected.add(id);
    this.draw();
    (id ? this.named(id) : this.rows.querySelector("input"))?.focus();
  }

  // --- the keyboard ---------------------------------------------------------------------------

  lines() {
    return [...this.rows.querySelectorAll(".open, .entry")].map((each) => each.querySelector("input") ?? each);
  }

  roving() {
    const lines = this.lines();
    const active = document.activeElement;
    const now = lines.includes(active) ? active : this.rows.querySelector('[aria-current="true"]') ?? lines[0];
    this.stay(now);
  }

  stay(now) { // one row takes the tab key, the arrows go on from there
    for (const line of this.lines()) {
      line.tabIndex = line === now ? 0 : -1;
      const kebab = line.parentElement.querySelector(":scope > .kebab");
      if (kebab) kebab.tabIndex = line === now ? 0 : -1;
    }
  }

  key(event) {
    const { key, target } = event;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (this.menu.contains(target)) {
      const items = [...this.menu.children];
      const at = items.indexOf(target);
      const to = step ? (at + step + items.length) % items.length : { Home: 0, End: items.length - 1 }[key];
      if (to !== undefined) { event.preventDefault(); items[to].focus(); }
      if (key === "Tab") this.closeMenu();
      return;
    }
    const lines = this.lines();
    const line = target === this.search ? null : target.closest(".line, .entry")?.querySelector(".open, .open input") ?? target;
    const at = target === this.search ? -1 : lines.indexOf(line.querySelector?.("input") ?? line);
    const to = step ? at + step : target === this.search ? undefined : { Home: 0, End: lines.length - 1 }[key];
    if (to === -1 && target !== this.search) { event.preventDefault(); this.search.focus(); }
    if (to !== undefined && lines[to]) {
      event.preventDefault();
      this.stay(lines[to]);
      lines[to].focus();
      return;
    }
    if (target === this.search && key === "Enter" && !event.isComposing && this.look.query) lines[0]?.click();
    const row = this.sessions().get(target.closest("[data-id]")?.dataset.id);
    if (!row || this.selecting) return;
    if (key === "F2") this.edit(row.id, row.name, this.data.words.rename, (title) => this.act("rename", { ids: [row.id], title }));
    if (key === "Delete") this.act("delete", { ids: [row.id] });
  }

  context(event) {
    const kebab = event.target.closest(".line")?.querySelector(".kebab");
    if (!kebab) return;
    event.preventDefault();
    kebab.click();
  }

  escape(event) {
    event.stopPropagation();
    if (this.closeMenu()) return;
    if (event.target === this.search) {
      this.search.value = "";
      clearTimeout(this.typed);
      if (this.look.query) this.ask({ query: "" });
    } else if (this.selecting) {
      this.selecting = false;
      this.selected.clear();
      this.draw();
      this.roving();
    }
  }
}
