// The form for a new shipment. Rates are sorted as carriers respond, errors about
// a field are shown beside it, and Enter never buys by accident.
"use strict";
(function () {
  const form = document.getElementById("new");
  if (!form) return;

  // The cheapest offer comes first, in whatever order carriers respond. The
  // fastest is the cheapest of those that arrive on the earliest day.
  function sort(list) {
    const all = Array.from(list.querySelectorAll("li.offer"));
    if (!all.length) return;
    const price = (li) => Number(li.dataset.minor);
    const arrival = (li) => li.dataset.arrival || "9999";
    const first = all[0].dataset.currency;
    const byPrice = (a, b) => (a.dataset.currency !== first) - (b.dataset.currency !== first) || price(a) - price(b);
    const byArrival = (a, b) => arrival(a).localeCompare(arrival(b));
    all.sort((a, b) => byPrice(a, b) || byArrival(a, b));
    const fastest = all.slice().sort((a, b) => byArrival(a, b) || byPrice(a, b))[0];
    const rest = list.querySelector(".asking, .refused");
    all.forEach((li) => {
      li.classList.toggle("is-cheapest", li === all[0] && all.length > 1);
      li.classList.toggle("is-fastest", li === fastest && li !== all[0] && Boolean(li.dataset.arrival));
      list.insertBefore(li, rest);
    });
    list.querySelectorAll(".refused").forEach((li) => list.append(li));
  }

  // Errors of the service are shown beside fields that were filled in; those of
  // empty fields are listed with the rates. What a carrier needs is shown beside
  // empty fields, too: without it that carrier has no rate.
  function showProblems() {
    form.querySelectorAll(".field.wrong").forEach((field) => {
      const note = field.querySelector(".note");
      field.classList.remove("wrong");
      if (note) note.textContent = note.dataset.help || "";
      const input = field.querySelector("input, select");
      if (input) input.removeAttribute("aria-invalid");
    });
    form.querySelectorAll("[data-wrong]").forEach((line) => {
      const input = line.dataset.wrong && form.elements[line.dataset.wrong];
      const field = input && input.closest && input.closest(".field");
      if (!field || (!input.value && !line.closest(".refused"))) return;
      const note = field.querySelector(".note");
      if (!note) return;
      if (!field.classList.contains("wrong")) note.dataset.help = note.dataset.help || note.textContent;
      field.classList.add("wrong");
      input.setAttribute("aria-invalid", "true");
      note.textContent = line.lastChild.textContent;
    });
  }

  document.addEventListener("htmx:afterSettle", () => {
    const list = document.querySelector("#offers .rates");
    if (list) sort(list);
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (form.contains(e.target)) showProblems();
  });

  // Enter in a field requests rates: only a button buys.
  form.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.target.tagName !== "INPUT" || e.target.type === "radio") return;
    e.preventDefault();
    e.target.dispatchEvent(new Event("change", { bubbles: true }));
  });
})();
