// The reference: examples show the reader's key, which stays in this page, and
// the list is filtered while typing.
(() => {
  "use strict";
  const key = document.getElementById("ref-key");
  const find = document.getElementById("ref-find");
  const none = document.getElementById("ref-none");
  const list = document.querySelector(".ref-list");

  const fill = () => {
    const value = key && /^sk_test_[\w-]+$/.test(key.value.trim()) ? key.value.trim() : "$WAYBILL_KEY";
    document.querySelectorAll("[data-example]").forEach((pre) => {
      const text = pre.dataset.example.replaceAll("$WAYBILL_KEY", value);
      pre.textContent = text;
      const copy = pre.parentElement.querySelector("[data-copy]");
      if (copy) copy.dataset.copy = text;
    });
  };

  const links = () => [...list.querySelectorAll("li:not([hidden]) a")];

  const search = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.querySelectorAll("section").forEach((section) => {
      let any = false;
      section.querySelectorAll("li").forEach((li) => {
        const text = li.textContent.toLowerCase();
        li.hidden = !words.every((w) => text.includes(w));
        any = any || !li.hidden;
      });
      section.hidden = !any;
    });
    none.hidden = links().length > 0;
  };

  const move = (e) => {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const all = links();
    const at = all.indexOf(document.activeElement);
    const next = e.key === "ArrowDown" ? at + 1 : at - 1;
    e.preventDefault();
    (all[next] || find).focus();
  };

  if (key) key.addEventListener("input", fill);
  find.addEventListener("input", search);
  find.addEventListener("keydown", (e) => {
    if (e.key === "Enter") {
      e.preventDefault();
      const first = links()[0];
      if (first) first.click();
    }
    if (e.key === "Escape") {
      find.value = "";
      search();
    }
  });
  list.addEventListener("keydown", move);
  document.body.addEventListener("htmx:afterSwap", () => {
    fill();
    const shown = document.getElementById("operation").dataset.operation;
    list.querySelectorAll("a").forEach((a) => {
      if (a.getAttribute("href").endsWith("/" + shown)) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    });
  });
  fill();
})();
