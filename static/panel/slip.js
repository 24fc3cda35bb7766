// The button of the pages that are made for paper.
document.querySelector("[data-print]").addEventListener("click", () => window.print());
