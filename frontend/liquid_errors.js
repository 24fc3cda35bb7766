// Translations of the error messages of the Liquid parser.
import { translate } from "./visual/words.js";

const FLAWS = [
  [/^tag "(.+)" not found$/, (tag) => translate("there is no tag “{tag}”", { tag })],
  [/^tag (.+) not closed$/, (tag) => translate("tag {tag} is never closed", { tag: unquoted(tag) })],
  [/^output (.+) not closed$/, (text) => translate("output {text} is never closed", { text: unquoted(text) })],
  [/^raw (.+) not closed$/, (text) => translate("tag {tag} is never closed", { tag: unquoted(text) })],
  [/^\[ not closed$/, () => translate("[ is never closed")],
  [/^unbalanced parentheses$/, () => translate("a parenthesis is never closed")],
  [/^invalid range syntax$/, () => translate("write a range in the form (1..5)")],
  [/^invalid value expression: ""$/, () => translate("a value is missing")],
  [/^invalid value expression: (.*)$/, (text) => translate("{text} is not a value", { text: unquoted(text) })],
  [/^unexpected token (.*), value expected$/, (text) => translate("a value is missing before {text}", { text: unquoted(text) })],
  [/^unexpected character (.*)$/, (text) => translate("{text} is not allowed here", { text: unquoted(text) })],
  [/^expected "\|" before filter$/, () => translate("“|” is missing before a filter")],
  [/^expected ":" after filter name$/, () => translate("“:” is missing after a filter's name")],
  [/^expected filter name$/, () => translate("a filter's name is missing")],
  [/^expected variable name$/, () => translate("a variable's name is missing")],
  [/^expected "="$/, () => translate("“=” is missing")],
  [/^illegal (?:liquid )?tag syntax/, () => translate("a tag's name is missing")],
  [/^illegal tag: (.+)$/, (tag) => translate("the syntax of {tag} is invalid", { tag })],
  [/^invalid capture name$/, () => translate("a variable's name is missing")],
  [/^illegal file path/, () => translate("a file's name is missing")],
  [/^unexpected elsif after else$/, () => translate("elsif comes after else")],
  [/^duplicated else$/, () => translate("else occurs twice")],
  [/^empty candidates: (.+)$/, (tag) => translate("{tag} has no values to choose from", { tag: unquoted(tag) })],
  [/^block tag cannot be nested$/, () => translate("a block can't contain another block")],
  [/^every line of an inline comment must start with a '#' character$/, () => translate("every line of an inline comment must begin with #")],
];

const unquoted = (text) => {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
};

// Return the translated error message. Unknown messages are returned unchanged.
export const inWords = (reason) => {
  for (const [pattern, say] of FLAWS) {
    const found = pattern.exec(reason);
    if (found) return say(...found.slice(1));
  }
  return reason;
};
