// Print the licenses of all packages that the built editors contain.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["frontend/editor.js", "frontend/liquid.js", "frontend/visual.js"],
  outdir: "static/panel",
  bundle: true,
  write: false,
  metafile: true,
  logLevel: "silent",
});
const packages = new Set(
  Object.keys(metafile.inputs)
    .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
    .filter(Boolean),
);
console.log("static/panel/editor.js, static/panel/liquid.js and static/panel/visual.js contain the following packages.\n");
for (const name of [...packages].sort()) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  console.log(`${"-".repeat(80)}\n${name} ${version} (${license})\n`);
  if (file && existsSync(`${folder}/${file}`)) console.log(readFileSync(`${folder}/${file}`, "utf8").trim(), "\n");
}
