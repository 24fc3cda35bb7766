// Texts in the reader's language, as the panel's scripts say them; English where they are alone, as in tests.
export const translate = (text, values = {}) =>
  globalThis.translate?.(text, values) ?? text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
