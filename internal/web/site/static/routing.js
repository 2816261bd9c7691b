// The routing pages: rules can be moved by dragging and by keyboard, and a
// back-test shows its progress. Without scripts there are buttons.
"use strict";
(function () {
  const $ = (selector, from) => (from || document).querySelector(selector);

  // Drag by the handle: with the mouse, a pen or a finger.
  let moved = null;
  document.addEventListener("pointerdown", (e) => {
    const grip = e.target.closest("[data-grip]");
    if (!grip || e.button > 0) return;
    e.preventDefault();
    const rule = grip.closest(".rule");
    const list = rule.parentElement;
    moved = { rule, list, before: Array.from(list.children) };
    rule.classList.add("dragged");
    grip.setPointerCapture(e.pointerId);
  });
  document.addEventListener("pointermove", (e) => {
    if (!moved) return;
    const others = Array.from(moved.list.children).filter((li) => li !== moved.rule);
    const next = others.find((li) => {
      const box = li.getBoundingClientRect();
      return e.clientY < box.top + box.height / 2;
    });
    if (next !== moved.rule.nextElementSibling) moved.list.insertBefore(moved.rule, next || null);
  });
  function drop(e) {
    if (!moved) return;
    const was = moved;
    moved = null;
    was.rule.classList.remove("dragged");
    if (e.type === "pointercancel") {
      was.before.forEach((li) => was.list.append(li));
      return;
    }
    if (Array.from(was.list.children).some((li, i) => li !== was.before[i])) $("#order").requestSubmit();
  }
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);

  // Alt and an arrow move the rule that has the focus.
  document.addEventListener("keydown", (e) => {
    if (!e.altKey || (e.key !== "ArrowUp" && e.key !== "ArrowDown")) return;
    const rule = e.target.closest("[data-sortable] .rule");
    const button = rule && $('button[value="' + (e.key === "ArrowUp" ? "up" : "down") + '"]', rule);
    if (!button) return;
    e.preventDefault();
    button.focus();
    if (!button.hasAttribute("aria-disabled")) button.click();
  });
  document.addEventListener("click", (e) => {
    const button = e.target.closest("button[aria-disabled]");
    if (button) { e.preventDefault(); e.stopPropagation(); }
  }, true);

  // A back-test is a stream of lines: its progress, and finally the result.
  const form = $("form[data-progress]");
  if (!form || !window.ReadableStream) return;
  const bar = $("progress", form);
  const count = $("[data-count]", form);
  const run = $("button.primary", form);
  function show(line) {
    if (line.html !== undefined) {
      const to = $(form.dataset.progress);
      const page = new DOMParser().parseFromString(line.html, "text/html");
      const result = $(form.dataset.progress, page);
      to.replaceWith(document.importNode(result, true));
      return;
    }
    bar.max = line.most;
    bar.value = line.done;
    count.textContent = line.done + " of at most " + line.most;
  }
  async function read(answer) {
    if (!answer.ok) throw new Error(decodeURIComponent(answer.headers.get("X-Problem") || ""));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (text + value).split("\n");
      text = lines.pop();
      lines.forEach((l) => show(JSON.parse(l)));
    }
  }
  form.addEventListener("submit", async (e) => {
    if (e.submitter && "plain" in e.submitter.dataset) return;
    e.preventDefault();
    const zone = e.submitter && e.submitter.name === "zone";
    run.disabled = true;
    bar.value = 0;
    bar.classList.remove("unseen");
    try {
      await read(await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, e.submitter)), headers: { "X-Progress": "1", "HX-Request": "true" } }));
      count.textContent = "";
      if (zone) {
        const changes = $("#changes");
        changes.scrollIntoView();
        changes.focus({ preventScroll: true });
      }
    } catch (err) {
      count.textContent = err.message || "Something went wrong. Try again.";
    }
    bar.classList.add("unseen");
    run.disabled = false;
  });
})();
