// Translations for CodeMirror's own texts.
import { translate } from "./visual/words.js";

export const phrases = {
  // Find and replace.
  "Find": translate("Find"),
  "Replace": translate("Replace with"),
  "next": translate("Next match"),
  "previous": translate("Previous match"),
  "all": translate("Select all"),
  "match case": translate("Match case"),
  "regexp": translate("Regular expression"),
  "by word": translate("Whole words"),
  "replace": translate("Replace"),
  "replace all": translate("Replace all"),
  "close": translate("Close"),
  "current match": translate("Current match"),
  "on line": translate("on line"),
  "replaced match on line $": translate("Replaced match on line {line}", { line: "$" }),
  "replaced $ matches": translate("{number} replaced", { number: "$" }),
  "Go to line": translate("Go to line"),
  "go": translate("Go"),
  // Folding.
  "Fold line": translate("Fold line"),
  "Unfold line": translate("Unfold line"),
  "Folded lines": translate("Folded lines"),
  "Unfolded lines": translate("Unfolded lines"),
  "to": translate("to"),
  "folded code": translate("folded code"),
  "unfold": translate("unfold"),
  // Other texts.
  "Completions": translate("Completions"),
  "Control character": translate("Control character"),
  "Selection deleted": translate("Selection deleted"),
  "$ unchanged lines": translate("{number} unchanged lines", { number: "$" }),
  "Diagnostics": translate("Problems"),
  "No diagnostics": translate("No problems"),
};
