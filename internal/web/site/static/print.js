// The print page: it prints on load and, if it was opened for that, then
// continues with the next order.
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
      location.href = frame.src; // the browser's own viewer has a print button
    }
  }

  // No event fires when a frame has been printed; the button leads on instead.
  window.addEventListener("afterprint", () => { if (next && !frame) location.href = next; });
  window.addEventListener("load", print);
  document.addEventListener("click", (e) => { if (e.target.closest("[data-print]")) { e.stopPropagation(); print(); } }, true);
})();
