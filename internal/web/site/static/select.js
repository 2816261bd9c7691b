// Selecting shipments in the list, with the mouse and by keyboard. Without this
// script the boxes and the buttons of the form work as they are.
"use strict";
(function () {
  const $ = (selector, from) => (from || document).querySelector(selector);
  const $$ = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const form = () => $("#bulk");
  const boxes = () => $$('#bulk tbody input[name="id"]');

  // The list is loaded again when a shipment changes, so what is selected is kept
  // here, and put back into the new list.
  const chosen = new Set();
  let filter = form() ? form().dataset.filter : "";
  let last = ""; // the shipment that a range begins at

  function set(box, on) {
    box.checked = on;
    if (on) chosen.add(box.value);
    else chosen.delete(box.value);
  }

  // Range sets the boxes from the last one up to this one.
  function range(box, on) {
    const list = boxes();
    const from = list.findIndex((b) => b.value === last);
    const to = list.indexOf(box);
    if (from < 0) { set(box, on); return; }
    list.slice(Math.min(from, to), Math.max(from, to) + 1).forEach((b) => set(b, on));
  }

  function show() {
    const f = form();
    if (!f) return;
    const list = boxes();
    list.forEach((b) => b.closest("tr").classList.toggle("chosen", b.checked));

    // A shipment that has moved to another page stays selected.
    $$("input[data-elsewhere]", f).forEach((i) => i.remove());
    const here = new Set(list.map((b) => b.value));
    chosen.forEach((id) => {
      if (here.has(id)) return;
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name: "id", value: id });
      input.dataset.elsewhere = "";
      f.append(input);
    });

    const page = $("[data-select-page]", f);
    const on = list.filter((b) => b.checked).length;
    if (page) {
      page.checked = on > 0 && on === list.length;
      page.indeterminate = on > 0 && on < list.length;
    }

    const all = $('input[name="all"]', f);
    const bar = $(".bulk-bar", f);
    if (!bar) return;
    bar.classList.toggle("on", chosen.size > 0 || all.checked);
    $("[data-count]", bar).textContent = all.checked ? "All selected" : chosen.size + " selected";
  }

  function clear() {
    chosen.clear();
    last = "";
    boxes().forEach((b) => { b.checked = false; });
    const all = $('#bulk input[name="all"]');
    if (all) all.checked = false;
    show();
  }

  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-unselect]")) {
      clear();
      const first = $("[data-select-page]");
      if (first) first.focus();
      return;
    }
    const box = e.target.closest('#bulk tbody input[name="id"]');
    if (!box) return;
    if (e.shiftKey) range(box, box.checked);
    else set(box, box.checked);
    last = box.value;
    show();
  });

  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-select-page]")) {
      boxes().forEach((b) => set(b, e.target.checked));
      show();
    } else if (e.target.matches('#bulk input[name="all"]')) {
      show();
    }
  });

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]")) return;
    if (e.key === "Escape" && chosen.size > 0) { clear(); return; }
    if (e.target.closest("input, select, textarea") || e.key.toLowerCase() !== "x") return;
    const row = e.target.closest("#bulk tbody tr");
    const box = row && $('input[name="id"]', row);
    if (!box) return;
    e.preventDefault();
    if (e.shiftKey) range(box, true);
    else set(box, !box.checked);
    last = box.value;
    show();
  });

  // Another filter is another list; the same list is only newer.
  document.addEventListener("htmx:afterSettle", () => {
    const f = form();
    if (!f) return;
    if (f.dataset.filter !== filter) {
      filter = f.dataset.filter;
      clear();
      return;
    }
    boxes().forEach((b) => { b.checked = chosen.has(b.value); });
    show();
  });

  // A browser that goes back restores the boxes as they were.
  window.addEventListener("pageshow", () => {
    boxes().forEach((b) => { if (b.checked) chosen.add(b.value); });
    show();
  });
})();
