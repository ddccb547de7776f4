// The map of a conversation: marks beside the turns, with the turns in sight marked. One tab stop; arrow keys move
// between the marks, Enter goes there.
const CHAT = '[class*="st-key-chat-"]';
const TURN = /st-key-(?:question|answer)-(\d+)(?:\s|$)/;

const TARGET = 24;  // px: the least that a finger or an unsteady hand meets (WCAG 2.2, 2.5.8)
const KINDS = ["raw", "found", "summary", "none", "plain"];  // the most that was given of a turn, first

// As many marks as have room, each for several of those that the page sends where these are more.
const fit = (marks, height) => {
  const count = Math.min(marks.length, Math.max(1, Math.floor(height / TARGET)));
  return Array.from({ length: count }, (_, at) => {
    const some = marks.slice(Math.floor((at * marks.length) / count), Math.floor(((at + 1) * marks.length) / count));
    const [first, , , label] = some[0];
    const last = some.at(-1)[1];
    return { first, last, kind: KINDS.find((kind) => some.some((mark) => mark[2] === kind)), label };
  });
};

const describe = (mark, words) => {
  const turns = mark.first === mark.last
    ? words.one.replace("{number}", mark.first)
    : words.several.replace("{first}", mark.first).replace("{last}", mark.last);
  return [turns, words[mark.kind]].filter(Boolean).join(" · ");
};

const makeMark = () => {
  const button = document.createElement("button");
  button.type = "button";
  button.tabIndex = -1;
  return button;
};

const fillMark = (button, mark, words) => {
  button.className = mark.kind;
  button.dataset.first = mark.first;
  button.dataset.last = mark.last;
  button.dataset.about = describe(mark, words);
  button.dataset.label = mark.label;
  button.setAttribute("aria-label", [button.dataset.about, mark.label].filter(Boolean).join(" · "));
};

// Marks that are there stay: one that is pressed while the page is drawn must not go away under the press.
const fill = (map) => {
  const { words } = map;
  const marks = fit(map.marks, map.clientHeight);
  while (map.children.length > marks.length) map.lastChild.remove();
  while (map.children.length < marks.length) map.append(makeMark());
  marks.forEach((mark, at) => fillMark(map.children[at], mark, words));
  map.setAttribute("aria-label", words.title);
};

const makeMap = (root) => {
  const map = document.createElement("nav");
  map.className = "gieok-map";
  map.addEventListener("keydown", (event) => move(map, event));
  for (const kind of ["focusin", "pointerover"]) map.addEventListener(kind, () => map.classList.remove("quiet"));
  map.addEventListener("click", (event) => {
    const mark = event.target.closest("button");
    if (mark) map.component.setTriggerValue("chosen", { turn: Number(mark.dataset.first), at: Date.now() });
  });
  root.append(map);
  return map;
};

const move = (map, event) => {
  const marks = [...map.children];
  const at = marks.indexOf(document.activeElement);
  if (event.key === "Escape" && at >= 0 && !map.classList.contains("quiet")) {
    map.classList.add("quiet");  // the label of the mark goes; the next Escape stops an answer again
    event.stopPropagation();
    return;
  }
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: marks.length - 1 }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  marks[Math.max(0, Math.min(next, marks.length - 1))].focus();
};

// Marks what the reader sees now, and makes the first of it the map's tab stop.
const markSight = (map) => {
  const chat = document.querySelector(CHAT);
  if (!chat || !map.isConnected) return;
  const frame = chat.getBoundingClientRect();
  const seen = new Set();
  for (const turn of chat.querySelectorAll('[class*="st-key-question-"], [class*="st-key-answer-"]')) {
    const box = turn.getBoundingClientRect();
    const number = TURN.exec(turn.className)?.[1];
    if (number && box.height && box.bottom > frame.top + 8 && box.top < frame.bottom - 8) seen.add(Number(number));
  }
  const marks = [...map.children];
  for (const mark of marks) {
    const shown = [...seen].some((number) => number >= Number(mark.dataset.first) && number <= Number(mark.dataset.last));
    if (shown) mark.setAttribute("aria-current", "true");
    else mark.removeAttribute("aria-current");
  }
  const focused = marks.includes(document.activeElement) ? document.activeElement : null;
  const stop = focused ?? marks.find((mark) => mark.hasAttribute("aria-current")) ?? marks.at(-1);
  for (const mark of marks) mark.tabIndex = mark === stop ? 0 : -1;
};

// Follows what is in sight until it is called again; the page calls a component anew with every change of its data.
const follow = (map) => {
  map.stop?.();
  let waiting = 0;
  const look = () => {
    waiting ||= requestAnimationFrame(() => { waiting = 0; markSight(map); });
  };
  document.addEventListener("scroll", look, { capture: true, passive: true });  // the conversation may be drawn anew
  window.addEventListener("resize", look);
  const grown = new ResizeObserver(look);
  const resized = new ResizeObserver(() => { fill(map); look(); });
  resized.observe(map);
  const turns = document.querySelector(".st-key-turns");
  if (turns) grown.observe(turns);
  map.stop = () => {
    document.removeEventListener("scroll", look, { capture: true });
    window.removeEventListener("resize", look);
    grown.disconnect();
    resized.disconnect();
    cancelAnimationFrame(waiting);
  };
  look();
};

export default function (component) {
  const { marks, words } = JSON.parse(new TextDecoder().decode(component.data));
  const root = component.parentElement;
  const map = (root.gieokMap ??= makeMap(root));
  map.component = component;
  Object.assign(map, { marks, words });
  fill(map);
  follow(map);
  return () => map.stop();
}
