// Completion in the search box: a list below it of what the word at the cursor may become. Arrows choose, Enter or Tab
// take, Escape closes. Without it the box is a plain text field.

import { number } from "./format.js";

const WAIT = 120; // milliseconds after the last key before asking
const LIST = "q-suggestions";

class Completion {
  constructor(input) {
    this.input = input;
    this.list = document.createElement("ul");
    this.list.id = LIST;
    this.list.className = "suggestions";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", input.labels[0]?.textContent ?? "");
    this.list.hidden = true;
    input.after(this.list);
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", LIST);
    this.found = null;
    this.chosen = -1;
    this.asked = 0;
    input.addEventListener("input", () => this.#soon());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.#close());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the box keeps the focus
      const item = event.target.closest("li");
      if (item) this.#take(Number(item.dataset.n));
    });
  }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), WAIT);
  }

  async #ask() {
    const asked = ++this.asked;
    const address = new URL(this.input.dataset.complete, location.href);
    address.searchParams.set("q", this.input.value);
    address.searchParams.set("at", String(this.input.selectionStart ?? this.input.value.length));
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok || asked !== this.asked) return;
    this.found = await answer.json();
    if (asked === this.asked && document.activeElement === this.input) this.#show();
  }

  #show() {
    const { suggestions, start, end } = this.found;
    const typed = this.input.value.slice(start, end);
    const worth = suggestions.length > 0 && !(suggestions.length === 1 && suggestions[0].insert === typed);
    if (!worth) {
      this.#close();
      return;
    }
    this.list.replaceChildren(...suggestions.map((one, n) => this.#item(one, n)));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.#choose(-1);
  }

  #item({ insert, jobs }, n) {
    const item = document.createElement("li");
    item.id = `${LIST}-${n}`;
    item.dataset.n = String(n);
    item.setAttribute("role", "option");
    const text = document.createElement("bdi");
    text.textContent = insert;
    item.append(text);
    if (jobs !== null) {
      const count = document.createElement("span");
      count.className = "count";
      count.textContent = number(jobs);
      item.append(count);
    }
    return item;
  }

  #choose(n) {
    this.chosen = n;
    for (const item of this.list.children) item.setAttribute("aria-selected", String(Number(item.dataset.n) === n));
    const item = this.list.children[n];
    if (item) {
      this.input.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    if (event.key === "ArrowDown" && this.list.hidden) {
      this.#ask();
      event.preventDefault();
    }
    if (this.list.hidden || event.isComposing) return;
    const count = this.list.children.length;
    if (event.key === "ArrowDown") this.#choose((this.chosen + 1) % count);
    else if (event.key === "ArrowUp") this.#choose(this.chosen <= 0 ? count - 1 : this.chosen - 1);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Tab" && !event.shiftKey && this.chosen >= 0) this.#take(this.chosen);
    else if (event.key === "Enter" && this.chosen >= 0) this.#take(this.chosen);
    else return;
    event.preventDefault();
  }

  #take(n) {
    const { suggestions, start, end } = this.found;
    const { insert } = suggestions[n];
    const rest = this.input.value.slice(end);
    const space = insert.endsWith(":") || rest.startsWith(" ") ? "" : " ";
    this.input.value = this.input.value.slice(0, start) + insert + space + rest;
    const cursor = start + insert.length + space.length;
    this.input.setSelectionRange(cursor, cursor);
    this.#close();
    if (insert.endsWith(":")) this.#ask();
  }

  #close() {
    this.asked += 1;
    clearTimeout(this.timer);
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.chosen = -1;
  }
}

export function completed(input) {
  return input?.dataset.complete ? new Completion(input) : null;
}
