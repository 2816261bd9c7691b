// The page that is printed: it prints by itself, and then leads on to the next
// order if it was opened for that.
"use strict";
(function () {
  const next = document.body.dataset.next;
  const frame = document.querySelector("iframe.print-pdf");

  function print() {
    if (!frame) { window.print(); return; }
    try {
      frame.contentWindow.focus();
      frame.contentWindow.print();
    } catch (err) {
      location.href = frame.src; // this browser shows the file itself, with its own button
    }
  }

  // A frame that is printed says nothing when it is done; there the button leads on.
  window.addEventListener("afterprint", () => { if (next && !frame) location.href = next; });
  window.addEventListener("load", print);
  document.addEventListener("click", (e) => { if (e.target.closest("[data-print]")) { e.stopPropagation(); print(); } }, true);
})();
