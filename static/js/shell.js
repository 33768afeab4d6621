// What every page does: theme, local times.

import { setNow, keepCurrent } from "./times.js";

const THEMES = ["system", "light", "dark"];
const YEAR = 365 * 86400;

function theme() {
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  const root = document.documentElement;
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme || "system") + 1) % THEMES.length];
    root.dataset.theme = next;
    document.cookie = `theme=${next}; path=/; max-age=${YEAR}; samesite=lax`;
    button.querySelector("[data-name]").textContent = button.dataset[next];
  });
}

document.documentElement.dataset.js = "on";
setNow(Number(document.body.dataset.now));
theme();
keepCurrent();
