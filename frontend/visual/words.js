// Translate a text with the panel's translate(); return English text without the panel, as in tests.
export const translate = (text, values = {}) =>
  globalThis.translate?.(text, values) ?? text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
