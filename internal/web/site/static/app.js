// Scripts of all pages: keyboard shortcuts, search, toasts, times, live updates.
// Everything works without them, only less quickly.
"use strict";
(function () {
  const root = document.documentElement;
  const $ = (selector, from) => (from || document).querySelector(selector);
  const $$ = (selector, from) => Array.from((from || document).querySelectorAll(selector));

  // Theme.
  document.addEventListener("click", (e) => {
    if (!e.target.closest("[data-theme-switch]")) return;
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    root.dataset.theme = next;
    try { localStorage.setItem("theme", next); } catch (err) { /* not kept */ }
  });

  // Toasts.
  function toast(text, bad) {
    const area = $("#toasts");
    if (!area || !text) return;
    const t = document.createElement("div");
    t.className = bad ? "toast bad-toast" : "toast";
    t.textContent = text;
    area.append(t);
    fade(t);
  }
  function fade(t) { setTimeout(() => t.remove(), 6000); }
  $$(".toast").forEach(fade);
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(history.state, "", here);
  }

  // Where a row of filters scrolls, the chosen one is in sight.
  $$(".chips [aria-current]").forEach((chip) => {
    const row = chip.parentElement;
    row.scrollLeft = chip.offsetLeft - row.offsetLeft - (row.clientWidth - chip.offsetWidth) / 2;
  });

  // Times in the reader's own zone.
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const shortDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const shortDate = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
  function since(t) {
    const s = (Date.now() - t) / 1000;
    if (s < 0) return shortDay.format(t);
    if (s < 60) return "just now";
    if (s < 3600) return Math.floor(s / 60) + " min ago";
    if (s < 86400) return Math.floor(s / 3600) + " h ago";
    return (t.getFullYear() === new Date().getFullYear() ? shortDay : shortDate).format(t);
  }
  // A date without an hour is the same day everywhere.
  function plainDate(text) {
    const [year, month, day] = text.split("-").map(Number);
    return shortDate.format(new Date(year, month - 1, day));
  }
  function localTimes(from) {
    $$("time[datetime]", from).forEach((el) => {
      if ("date" in el.dataset) { el.textContent = plainDate(el.dateTime); return; }
      const t = new Date(el.dateTime);
      if (isNaN(t)) return;
      el.title = full.format(t);
      if ("full" in el.dataset) el.textContent = full.format(t);
      else if ("clock" in el.dataset) el.textContent = clock.format(t);
      else if ("day" in el.dataset) el.textContent = weekday.format(t);
      else el.textContent = since(t);
    });
  }
  localTimes();
  setInterval(() => localTimes(), 30000);
  document.addEventListener("htmx:load", (e) => localTimes(e.target));
  document.addEventListener("htmx:afterSettle", () => localTimes()); // content swapped in elsewhere is not part of the target

  // Times that a person types are those of their own place.
  $$("input[data-offset]").forEach((el) => {
    const minutes = -new Date().getTimezoneOffset();
    const two = (n) => String(n).padStart(2, "0");
    el.value = (minutes < 0 ? "-" : "+") + two(Math.floor(Math.abs(minutes) / 60)) + ":" + two(Math.abs(minutes) % 60);
  });

  // Copy.
  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-copy]");
    if (!b) return;
    e.preventDefault();
    try {
      await navigator.clipboard.writeText(b.dataset.copy);
      toast("Copied.");
    } catch (err) {
      toast("The browser did not allow copying.", true);
    }
  });

  // Dialogs, the sidebar on phones, and confirmations before irreversible actions.
  function openDialog(id) {
    const d = document.getElementById(id);
    if (!d || d.open) return;
    d.showModal();
    const first = $("input", d);
    if (first) first.select();
  }
  document.addEventListener("click", (e) => {
    const opener = e.target.closest("[data-open]");
    if (opener) { e.preventDefault(); openDialog(opener.dataset.open); return; }
    if (e.target.matches("dialog")) e.target.close();
    const toggle = e.target.closest("[data-toggle]");
    if (toggle) {
      const el = document.getElementById(toggle.dataset.toggle);
      const open = el.classList.toggle("open");
      $$('[data-toggle="' + el.id + '"]').forEach((b) => b.setAttribute("aria-expanded", open));
    } else if (!e.target.closest(".side")) {
      $$(".side.open").forEach((s) => s.classList.remove("open"));
    }
  });
  document.addEventListener("keydown", (e) => {
    const side = $(".side.open");
    if (e.key !== "Escape" || !side) return;
    side.classList.remove("open");
    const openers = $$('[data-toggle="side"]');
    openers.forEach((b) => b.setAttribute("aria-expanded", "false"));
    const back = openers.find((b) => b.offsetParent);
    if (back) back.focus();
  });
  document.addEventListener("submit", (e) => {
    const ask = e.target.dataset.ask;
    if (ask && !window.confirm(ask)) e.preventDefault();
  });
  document.addEventListener("htmx:confirm", (e) => {
    const ask = e.target.dataset && e.target.dataset.ask;
    if (ask && !window.confirm(ask)) e.preventDefault();
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-print]")) window.print();
  });

  // A filter applies as soon as it is changed.
  document.addEventListener("change", (e) => {
    const form = e.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  // "Everything" and single scopes exclude each other.
  document.addEventListener("change", (e) => {
    const group = e.target.closest("[data-everything]");
    if (!group || e.target.type !== "checkbox" || !e.target.checked) return;
    const all = group.dataset.everything;
    $$('input[type="checkbox"]', group).forEach((box) => {
      if (box !== e.target && (e.target.value === all || box.value === all)) box.checked = false;
    });
  });

  // The frame of a phone's browser has the colour of the mode.
  const band = $(".band");
  if (band) {
    const meta = document.createElement("meta");
    meta.name = "theme-color";
    meta.content = getComputedStyle(band).backgroundColor;
    document.head.append(meta);
  }

  // Keyboard shortcuts.
  let before = "";
  function go(key) {
    const link = $('[data-key="' + key + '"]');
    if (link) link.click();
    return Boolean(link);
  }
  function step(by) {
    const list = $("#found") && $("#palette").open ? $$("#found .hits a") : $$(".rows a.row");
    if (!list.length) return;
    const at = list.findIndex((a) => a === document.activeElement);
    const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) {
      if ((e.ctrlKey || e.metaKey) && e.key === "k") { e.preventDefault(); openDialog("palette"); }
      return;
    }
    if ($("#palette") && $("#palette").open && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      step(e.key === "ArrowDown" ? 1 : -1);
      return;
    }
    if (e.target.closest("input, select, textarea, dialog[open]")) return;
    const key = e.key;
    if (before === "g") {
      before = "";
      if (go("g " + key)) e.preventDefault();
      return;
    }
    if (key === "g") { before = "g"; setTimeout(() => { before = ""; }, 1200); return; }
    if (key === "/") { e.preventDefault(); openDialog("palette"); return; }
    if (key === "?") { openDialog("shortcuts"); return; }
    if (key === "j") { step(1); return; }
    if (key === "k") { step(-1); return; }
    if (go(key)) e.preventDefault();
  });

  // Errors of the server are shown as toasts.
  document.addEventListener("htmx:responseError", (e) => {
    const said = e.detail.xhr.getResponseHeader("X-Problem");
    toast(said ? decodeURIComponent(said) : "Something went wrong. Try again.", true);
  });
  document.addEventListener("htmx:sendError", () => toast("The server does not respond.", true));

  // Live updates: the stream names the shipment that changed, and the parts of
  // the page that show it reload themselves.
  const pulse = $("[data-live]");
  const cares = () => $$("[data-follow]");
  const changed = new Set();
  let waiting = 0;
  function tellParts() {
    waiting = 0;
    cares().forEach((el) => {
      const of = el.dataset.follow;
      if (of === "*" || changed.has(of)) window.htmx.trigger(el, "news");
    });
    setTimeout(() => changed.clear(), 2500);
  }
  if (pulse && window.EventSource && cares().length) {
    const one = cares().map((el) => el.dataset.follow).find((of) => of.startsWith("shp_"));
    const source = new EventSource(pulse.dataset.live + (one ? "?of=" + one : ""));
    source.addEventListener("open", () => { pulse.hidden = false; pulse.classList.remove("off"); });
    source.addEventListener("error", () => pulse.classList.add("off"));
    source.addEventListener("changed", (e) => {
      changed.add(e.data);
      if (!waiting) waiting = setTimeout(tellParts, 300);
    });
    window.addEventListener("pagehide", () => source.close());
  }
  document.addEventListener("htmx:afterSettle", () => {
    changed.forEach((id) => {
      const row = document.getElementById("row-" + id);
      if (row) row.classList.add("fresh");
    });
  });
})();
