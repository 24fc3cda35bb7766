// The print button on printable pages.
document.querySelector("[data-print]").addEventListener("click", () => window.print());
