// Sets the theme before the first paint, so that a dark page never flashes.
"use strict";
(function () {
  var kept = null;
  try { kept = localStorage.getItem("theme"); } catch (e) { /* storage is disabled */ }
  var dark = kept ? kept === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
