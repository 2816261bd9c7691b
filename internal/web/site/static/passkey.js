// Passkeys: the form carries the browser's answer to the server's challenge.
"use strict";
document.addEventListener("submit", async (e) => {
  const form = e.target.closest("form[data-passkey]");
  if (!form || form.elements.credential.value) return;
  e.preventDefault();
  const say = (text) => {
    const t = document.createElement("div");
    t.className = "toast bad-toast";
    t.textContent = text;
    document.getElementById("toasts").append(t);
    setTimeout(() => t.remove(), 6000);
  };
  if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) {
    say("This browser does not support passkeys.");
    return;
  }
  try {
    const asked = await fetch(form.dataset.passkey, { method: "POST", headers: { "HX-Request": "true" } });
    if (!asked.ok) throw new Error("refused");
    const options = (await asked.json()).publicKey;
    const made = form.dataset.passkeyDo === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    form.elements.credential.value = JSON.stringify(made.toJSON());
    form.submit();
  } catch (err) {
    say("The passkey could not be used.");
  }
});
document.querySelectorAll("a[data-follow-now]").forEach((a) => { location.href = a.href; });
