// Show whether this browser may show notifications, and ask for the permission when the user presses the button.
(() => {
  "use strict";
  const part = document.querySelector("[data-consent]");
  const button = document.querySelector("[data-allow-notifications]");
  if (!part || !button) return;

  const show = () => {
    const state = (window.isSecureContext && window.Notification?.permission) || "unsupported";
    part.querySelectorAll("[data-state]").forEach((text) => {
      text.hidden = text.dataset.state !== state;
    });
    button.hidden = state !== "default";
    button.parentElement.hidden = button.hidden;
  };

  button.addEventListener("click", async () => {
    await Notification.requestPermission();
    show();
  });
  show();
})();
