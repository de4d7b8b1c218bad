// In Node.js: every dataset of files.py is what h5py reads, and what cannot be read is said.  read.mjs FOLDER

import assert from "node:assert";
import { readFileSync } from "node:fs";
import h5wasm from "h5wasm/node";
import { install } from "sleek-h5wasm";

const folder = process.argv[2];
const module = await h5wasm.ready;
module.activate_throwing_error_handler();

const before = new h5wasm.File(`${folder}/fields.h5`, "r");
assert.throws(() => before.get("abs").value, /required filter 'SLEEK' is not registered/, "without the plugin");
before.close();

await install(module);
const file = new h5wasm.File(`${folder}/fields.h5`, "r");
const names = JSON.parse(readFileSync(`${folder}/names.json`));
assert.ok(names.length > 10);
for (const name of names) {
  const { buffer, byteOffset, byteLength } = file.get(name).value;
  assert.ok(readFileSync(`${folder}/${name}.raw`).equals(Buffer.from(buffer, byteOffset, byteLength)), name);
}
const part = file.get("abs").slice([[3, 7], [10, 12], [0, 144]]);
const whole = file.get("abs").value;
assert.deepStrictEqual(part.slice(144, 288), whole.slice((3 * 73 + 11) * 144, (3 * 73 + 12) * 144));
file.close();

const damaged = new h5wasm.File(`${folder}/damaged.h5`, "r");
assert.throws(() => damaged.get("abs").value, /filter returned failure during read/, "a damaged chunk");
const sound = damaged.get("noa").value;
assert.strictEqual(sound.length, 12 * 73 * 144);
damaged.close();

const written = new h5wasm.File("written.h5", "w");
const field = { name: "a", data: new Float32Array(1000), shape: [1000], chunks: [1000], compression: 47474, compression_opts: [] };
assert.throws(() => written.create_dataset(field).value, undefined, "no encoder");
console.log(`h5wasm in Node.js: ${names.length} datasets as h5py reads them`);
