// Adds a button to each block of code that copies it. The pages work without it.
"use strict";
(function () {
  if (!navigator.clipboard) return;
  document.querySelectorAll(".code > pre").forEach(function (pre) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(pre.textContent).then(function () {
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = "Copy"; }, 2000);
      }, function () {
        button.textContent = "Not copied";
      });
    });
    pre.parentElement.appendChild(button);
  });
})();

// "/" goes to the search, as in the dashboard.
document.addEventListener("keydown", function (event) {
  var field = document.querySelector(".bar input[type=search]");
  var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
