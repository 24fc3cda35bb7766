// English is what the scripts say by themselves.
window.panelWords = {};
