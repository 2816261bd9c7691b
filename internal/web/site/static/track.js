// The public tracking page: times that have no place are written in the
// reader's own zone, and the page refreshes itself while it is open.
// Everything is readable without it.
"use strict";
(function () {
  const day = new Intl.DateTimeFormat(document.documentElement.lang, { weekday: "long", day: "numeric", month: "long" });
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "numeric", minute: "2-digit" });
  function times() {
    document.querySelectorAll("time[data-mine]").forEach((el) => {
      const t = new Date(el.dateTime);
      if (!isNaN(t)) el.textContent = day.format(t) + ", " + clock.format(t);
    });
  }
  times();

  let shown = "";
  async function look() {
    const parcel = document.getElementById("parcel");
    if (document.hidden || !parcel || !("follows" in parcel.dataset)) return;
    try {
      const answer = await fetch(location.href, { cache: "no-cache" });
      if (!answer.ok) return;
      const text = await answer.text();
      if (shown && text !== shown) {
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("parcel");
        if (fresh) parcel.replaceWith(document.adoptNode(fresh));
        times();
      }
      shown = text;
    } catch (err) { /* the next refresh may reach the server */ }
  }
  look();
  setInterval(look, 30000);
  document.addEventListener("visibilitychange", look);
})();
