// Types first, then one script, one style sheet and the notices of what is bundled, into ../static.
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const OUT = "../static";

execFileSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
rmSync(OUT, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ["src/study.ts", "src/study.css"],
  entryNames: "[name]",
  outdir: OUT,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "safari16.4"],
  metafile: true,
  logLevel: "warning",
});
for (const file of ["check.png", "icon.svg"]) copyFileSync(join("src", file), join(OUT, file));
writeFileSync(join(OUT, "notices.txt"), notices(metafile.inputs));

/** Name, version, licence and its text, of every package that has a file in the bundle. */
function notices(inputs) {
  const places = Object.keys(inputs).map((file) => file.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0]);
  return [...new Set(places.filter(Boolean))].sort().map(notice).join("\n\n");
}

function notice(place) {
  const { name, version, license } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const text = readdirSync(place).find((file) => /^licen[cs]e/i.test(file));
  return [`${name} ${version} (${license})`, ...(text ? [readFileSync(join(place, text), "utf8").trim()] : [])].join("\n\n");
}
