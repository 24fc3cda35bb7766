// Reads a JSON list of Liquid that does not parse; prints what staff read of each, with every text marked as translated.
import { readFileSync } from "node:fs";
import { Liquid } from "liquidjs";
import { inWords } from "../../frontend/liquid_errors.js";

globalThis.translate = (text, values = {}) => `«${text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place)}»`;
const engine = new Liquid();
const said = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  try {
    engine.parse(text);
    return "";
  } catch (error) {
    return inWords((error.originalError?.message ?? error.message).split("\n")[0].replace(/, line:\d+, col:\d+$/, ""));
  }
});
console.log(JSON.stringify(said));
