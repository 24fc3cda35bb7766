// Sorting a collection needs no button.
document.querySelectorAll("[data-submit]").forEach((select) => {
  select.addEventListener("change", () => select.form.requestSubmit());
});

// The address of a product names the chosen variant, so that it can be shared.
document.getElementById("variant")?.addEventListener("change", (event) => {
  const here = new URL(window.location.href);
  here.searchParams.set("variant", event.target.value);
  window.history.replaceState({}, "", here);
});
