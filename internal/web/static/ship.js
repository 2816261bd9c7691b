// Rates come as carriers answer: the cheapest stands first, whoever was first.
"use strict";
(function () {
  function sort(list) {
    const all = Array.from(list.querySelectorAll("li.offer"));
    if (!all.length) return;
    const price = (li) => Number(li.dataset.minor);
    const days = (li) => Number(li.dataset.days) || Infinity;
    const first = all[0].dataset.currency;
    all.sort((a, b) => (a.dataset.currency !== first) - (b.dataset.currency !== first) || price(a) - price(b) || days(a) - days(b));
    const fastest = all.slice().sort((a, b) => days(a) - days(b) || price(a) - price(b))[0];
    const rest = list.querySelector(".asking, .refused");
    all.forEach((li) => {
      li.classList.toggle("is-cheapest", li === all[0] && all.length > 1);
      li.classList.toggle("is-fastest", li === fastest && li !== all[0]);
      list.insertBefore(li, rest);
    });
    list.querySelectorAll(".refused").forEach((li) => list.append(li));
  }
  document.addEventListener("htmx:afterSettle", () => {
    const list = document.querySelector("#offers .rates");
    if (list) sort(list);
  });
})();
