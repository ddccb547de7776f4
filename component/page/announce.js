const ATTACH = '[data-testid="stChatInputFileUploadButton"] button';
const PATIENCE = 600;  // looks, 100 ms apart: a busy machine may take long to draw a place

export default function (component) {
  const { data } = component;
  document.documentElement.lang = data.lang;
  window.gieokEdit = () => component.setTriggerValue("edit", Date.now());
  if (!window.gieokKeys) {
    window.gieokKeys = true;
    const WRITTEN = '[role="dialog"]:not(.gieok-palette) :is(textarea, input:not([type="range"], [type="checkbox"], [type="radio"], [role="combobox"]))';
    // a box of choices is not among them: what is written there only searches
    const begun = new WeakMap();  // what stood in a field of a window when it was gone to, or was last taken over
    addEventListener("focusin", ({ target }) => { if (target.matches?.(WRITTEN)) begun.set(target, target.value); }, true);
    addEventListener("keydown", (event) => {  // what is being written in a window is taken over first: the next Esc closes it
      const field = event.target;
      if (!field.matches?.(WRITTEN) || event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter") begun.set(field, field.value);
      if (event.key !== "Escape" || (begun.get(field) ?? field.value) === field.value) return;
      event.stopImmediatePropagation();
      field.blur();
    }, true);
    addEventListener("keydown", (event) => {  // Esc in the moment in which a page run draws the window anew closes it then
      if (event.key !== "Escape" || !window.gieokRedrawn || event.isComposing) return;
      event.stopImmediatePropagation();
      window.gieokShut = true;
    }, true);
    addEventListener("keydown", (event) => {  // Esc that is meant for a field or a composition stops no answer
      const field = event.target.closest?.("input, textarea");
      const elsewhere = field && !field.closest('[data-testid="stChatInput"]');
      if (event.key === "Escape" && (elsewhere || event.isComposing || event.keyCode === 229)) {
        if (!event.target.closest('[role="dialog"]')) event.stopImmediatePropagation();
      }
      // the focused part of an open window was drawn anew, or something below the window has the focus
      const lost = !document.activeElement?.closest('[role="dialog"], [role="menu"], [role="listbox"], [data-baseweb="popover"]');
      const close = lost && document.querySelector('[role="dialog"] > button');
      if (event.key === "Escape" && close && !event.isComposing) {
        event.stopImmediatePropagation();
        close.click();
      }
      if (event.key === "Escape" && event.target.closest?.(".gieok-list") && !event.isComposing) {
        event.stopImmediatePropagation();
        event.target.dispatchEvent(new CustomEvent("gieok-escape", { bubbles: true }));
      }
    }, true);
    document.addEventListener("keydown", (event) => {
      const input = event.target.closest?.('[data-testid="stChatInput"] textarea');
      if (event.key === "ArrowUp" && input && !input.value && !event.isComposing) {
        event.preventDefault();
        window.gieokEdit();
      }
    });
  }
  if (!window.gieokBusy) {
    window.gieokBusy = true;
    document.addEventListener("click", (event) => {  // seen at once: the page is drawn anew only after a while
      const pressed = event.target.closest?.(".st-key-samples button");
      const page = document.querySelector("[data-test-script-state]");
      if (!pressed || !page || pressed.disabled) return;
      pressed.setAttribute("aria-busy", "true");
      const watch = new MutationObserver(() => {
        if (page.dataset.testScriptState !== "notRunning") return;
        watch.disconnect();
        pressed.removeAttribute("aria-busy");  // it stays where nothing could be sent
      });
      watch.observe(page, { attributes: true, attributeFilter: ["data-test-script-state"] });
    });
  }
  const bring = (selector, block, done) => {  // until the reader moves
    let moved = false, calm = 0, held = 0;
    const stay = () => { moved = true; };
    const seek = (tries) => {
      const found = document.querySelector(selector);
      if (moved) return;
      if (!found) {
        if (tries) setTimeout(seek, 100, tries - 1);
        return;
      }
      found.scrollIntoView({ block });
      done();
      // the conversation before may stand here still, and the list scrolls to its end while it is being filled
      calm = document.querySelector('[data-test-script-state="running"]') ? 0 : calm + 1;
      held += 1;
      if (calm < 7 && held < 60) setTimeout(seek, 250, tries);
    };
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      addEventListener(kind, stay, { once: true, passive: true });
    }
    setTimeout(seek, 300, PATIENCE);
  };
  const [jump, turn] = data.jump;
  if (jump && window.gieokJump !== jump) {
    bring(`.st-key-question-${turn}`, "start", () => { window.gieokJump = jump; });
  }
  const write = (selector, tries, free) => {  // free: only when nothing else has been gone to
    const field = document.querySelector(selector), now = document.activeElement;
    if (free && document.querySelector('[role="dialog"]')) return;
    if (free && now && now !== document.body && !now.closest(".st-key-new-chat")) return;
    if (field) {
      field.focus({ preventScroll: free });
      field.setSelectionRange(field.value.length, field.value.length);
    } else if (tries) setTimeout(write, 100, selector, tries - 1, free);
  };
  const [opened, draft] = data.editor;
  if (opened && window.gieokEditor !== opened) {
    window.gieokEditor = opened;
    const place = `.st-key-${draft.replace(/[^\w-]/g, "-")}`;
    write(`${place} textarea`, PATIENCE, false);
    bring(place, "nearest", () => {});
  }
  if (window.gieokBegun !== data.begun) {
    window.gieokBegun = data.begun;
    const phone = innerWidth <= 768 || matchMedia("(pointer: coarse)").matches;  // its keyboard would cover the page
    if (!phone) write('[data-testid="stChatInput"] textarea:not([disabled])', PATIENCE, true);
  }
  const [mark, text] = data.back;
  const input = document.querySelector('[data-testid="stChatInput"] textarea');
  if (mark && input && window.gieokBack !== mark) {  // once, and never over what was typed meanwhile
    window.gieokBack = mark;
    if (!input.value) {
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(input, text);
      input.dispatchEvent(new Event("input", { bubbles: true }));  // React takes over what such an event announces
    }
  }
  const scheme = () => {
    const app = document.querySelector(".stApp");
    const now = app ? getComputedStyle(app).colorScheme : "";
    if (document.documentElement.style.colorScheme !== now) document.documentElement.style.colorScheme = now;
  };
  // Streamlit's own notice of a lost connection is in English and lies over the page: it closes, and ours takes its place
  const watchConnection = () => {
    const state = document.querySelector(".stApp")?.dataset.testConnectionState;
    if (!state) return;
    for (const title of document.querySelectorAll('[role="dialog"] > h2[slot="title"]')) {
      if (title.textContent === "Connection error") title.parentElement.querySelector("button")?.click();
    }
    const connected = state === "CONNECTED";
    if (connected) window.gieokConnected = true;
    const lost = !connected && window.gieokConnected;  // a page that opens is not connected yet
    document.body.classList.toggle("gieok-lost", lost);
    let notice = document.getElementById("gieok-lost");
    if (lost && !notice) {
      notice = document.createElement("div");
      notice.id = "gieok-lost";
      notice.setAttribute("role", "alert");
      document.body.appendChild(notice);
      const since = new Date().toLocaleTimeString(data.lang, { hour: "2-digit", minute: "2-digit" });
      notice.textContent = data.lost.replace("{since}", since);
    } else if (!lost && notice) notice.remove();
  };
  const makeFocusable = () => {  // what scrolls by itself takes the focus; measured only while nothing is being drawn
    if (document.querySelector('[data-test-script-state="running"]')) return;
    for (const box of document.querySelectorAll('[data-testid="stMarkdownContainer"] table, [data-testid="stCode"] pre')) {
      const wide = box.scrollWidth > box.clientWidth;
      if (wide && box.tabIndex !== 0) box.tabIndex = 0;
      if (!wide && box.tabIndex === 0) box.removeAttribute("tabindex");
    }
  };
  const watchWindow = () => {  // Streamlit shows no window from the begin of a page run until that has drawn it
    const open = document.querySelector('[role="dialog"]:not(.gieok-palette)');
    const running = document.querySelector('[data-test-script-state="running"]');
    if (open && window.gieokShut) open.querySelector(":scope > button")?.click();
    if (open || !running) window.gieokShut = false;
    window.gieokRedrawn = !open && Boolean(running) && Boolean(window.gieokRedrawn || window.gieokOpen);
    window.gieokOpen = Boolean(open);
  };
  const name = () => {
    scheme();
    makeFocusable();
    watchConnection();
    for (const [selector, label] of Object.entries(data.names)) {
      for (const each of document.querySelectorAll(selector)) {
        if (each.getAttribute("aria-label") !== label) each.setAttribute("aria-label", label);
        if (each.matches(ATTACH) && each.title !== label) each.title = label;  // in place of Streamlit's English tip
      }
    }
    for (const each of document.querySelectorAll('[data-testid="stFileUploaderDropzone"] button p')) {
      if (each.dataset.label !== data.choose) each.dataset.label = data.choose;
    }
    for (const zone of document.querySelectorAll('[data-testid="stFileUploaderDropzone"][role="presentation"]')) {
      zone.setAttribute("role", "group");  // it takes the focus and has a name
    }
    document.querySelector(".st-key-file-refused:not([role])")?.setAttribute("role", "alert");
    for (const menu of document.querySelectorAll('[role="menu"][data-rac]')) {  // Streamlit draws it outside every landmark
      if (menu.getAttribute("aria-label") !== data.menu) menu.setAttribute("aria-label", data.menu);
      if (menu.parentElement.getAttribute("role") === "region") continue;
      menu.parentElement.setAttribute("role", "region");
      menu.parentElement.setAttribute("aria-label", data.menu);
    }
    for (const [selector, label] of Object.entries(data.regions)) {
      for (const each of document.querySelectorAll(selector)) {
        if (each.getAttribute("aria-label") === label) continue;
        each.setAttribute("role", "region");
        each.setAttribute("tabindex", "0");
        each.setAttribute("aria-label", label);
      }
    }
  };
  name();
  if (window.gieokNames) window.gieokNames.disconnect();
  if (!window.gieokCloses) {
    window.gieokCloses = true;
    document.addEventListener("click", (event) => {
      const pages = ".st-key-new-private button, .st-key-documents-open button, .st-key-worlds-open button";
      const leads = `.gieok-list .row button.open, .st-key-new-chat button, ${pages}`;
      if (innerWidth > 768 || !event.target.closest(leads)) return;
      document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
    });
  }
  if (!window.gieokCites) {  // a number in an answer opens what its button below the answer opens
    window.gieokCites = true;
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#source-"], a[href^="#past-"]');
      if (!link) return;
      event.preventDefault();
      const [, place] = link.hash.match(/^#((?:source|past)-\d+-\d+)$/) ?? [];  // the address may be a model's own
      const button = place && document.querySelector(`.st-key-${place} button`);
      button?.focus({ preventScroll: true });
      // one click of a mouse: a window takes no focus after a click by script, and Esc would not close it
      button?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
    }, true);
  }
  let planned = false;
  window.gieokNames = new MutationObserver(() => {
    watchWindow();
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => { planned = false; name(); });
  });
  const states = ["data-test-connection-state", "data-test-script-state"];
  window.gieokNames.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: states });
}
