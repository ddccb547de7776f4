export default function (component) {
  const { serial, place } = component.data;
  if (!serial || window.gieokPointed === serial) return;
  window.gieokPointed = serial;
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
      && getComputedStyle(element).visibility !== "hidden";
  };
  const find = (selector) => [...document.querySelectorAll(selector)].find(visible);
  const until = async (look, tries = 600) => {  // a busy machine may take long to draw a place
    for (let left = tries; left; left -= 1) {
      const found = look();
      if (found) return found;
      await new Promise((go) => setTimeout(go, 100));
    }
    return null;
  };
  const point = async () => {
    await until(() => !document.querySelector('[role="dialog"]'));
    if (place.tab !== null) {
      if (!find(".st-key-panel")) find(".st-key-open-panel button")?.click();
      const tabs = ':is(.st-key-panel, .st-key-window-drawer) [data-testid="stTabs"] [role="tab"]';
      const tab = await until(() => [...document.querySelectorAll(tabs)].filter(visible)[place.tab]);
      if (tab?.getAttribute("aria-selected") !== "true") tab?.click();
    }
    if (!place.sidebar && innerWidth <= 768) {
      find('[data-testid="stSidebarCollapseButton"] button')?.click();  // on a phone it covers the page
    }
    if (place.sidebar) {
      find('[data-testid="stExpandSidebarButton"]')?.click();
      await until(() => !find('[data-testid="stExpandSidebarButton"]'));
    }
    if (place.expander) {
      const box = await until(() => find(`${place.expander} details`));
      if (box && !box.open) box.querySelector("summary").click();
    }
    const hides = () => [...document.querySelectorAll(place.show)].find((found) => {
      const summary = found.closest("details:not([open])")?.querySelector("summary");
      return summary && visible(summary);  // a panel that is out of sight has one, too
    });
    await until(() => find(place.show) || hides());
    if (!find(place.show)) hides()?.closest("details").querySelector("summary").click();  // folded
    const target = await until(() => find(place.show));
    if (!target) return;
    target.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.classList.add("gieok-pointed");
    setTimeout(() => target.classList.remove("gieok-pointed"), 3000);
  };
  point();
}
