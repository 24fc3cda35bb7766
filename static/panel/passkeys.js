// Says beside the form why a passkey could not be made or used; allauth's script only logs it.
(() => {
  "use strict";
  const REASONS = {
    NotAllowedError: translate("No passkey was used: it was stopped, took too long, or there is none for this address. Try again."),
    InvalidStateError: translate("This key has been added already."),
    SecurityError: translate("Browsers use passkeys only at an address with a name, by https (or at http://localhost)."),
    NotSupportedError: translate("This key cannot do what is asked for. Try another one."),
  };

  document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    const { exception } = event.detail;
    const missing = !window.PublicKeyCredential;
    const note = document.getElementById("passkey-problem");
    note.textContent = missing
      ? REASONS.SecurityError
      : REASONS[exception.name] || translate("The passkey could not be used: {reason}", { reason: exception.message });
    note.hidden = false;
    note.scrollIntoView({ block: "nearest" });
  });
})();
