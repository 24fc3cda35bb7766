// Show why a passkey could not be created or used, because allauth's script only logs the error.
(() => {
  "use strict";
  const REASONS = {
    NotAllowedError: translate("No passkey was used. The request was canceled or timed out, or there is no passkey for this site. Try again."),
    InvalidStateError: translate("This passkey is already registered."),
    SecurityError: translate("Passkeys only work on a domain with HTTPS (or on http://localhost)."),
    NotSupportedError: translate("This device doesn't support the required passkey features. Try another device or security key."),
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
