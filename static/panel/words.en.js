// English needs no translations, because the texts in the scripts are English.
window.panelWords = {};
