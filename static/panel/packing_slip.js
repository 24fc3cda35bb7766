// The print button of printable pages.
document.querySelector("[data-print]").addEventListener("click", () => window.print());
