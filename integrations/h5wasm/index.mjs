// The HDF5 filter SLEEK for h5wasm: `await install(await h5wasm.ready)`, then open files as always.

const FILE = "libH5Zsleek.so";

/** Puts the plugin where `module`, what `h5wasm.ready` gives, looks for filters; in Node.js the folder of this file is named to it. */
export async function install(module) {
  const here = new URL(FILE, import.meta.url);
  if (here.protocol === "file:") {
    const { fileURLToPath } = await import("node:url");
    module.insert_plugin_search_path(fileURLToPath(new URL(".", here)), 0);
    return;
  }
  const answer = await fetch(here);
  if (!answer.ok) {
    throw new Error(`${here}: ${answer.status} ${answer.statusText}; ${FILE} must lie beside index.mjs`);
  }
  const folder = module.get_plugin_search_paths()[0];
  module.FS.mkdirTree(folder);
  module.FS.writeFile(`${folder}/${FILE}`, new Uint8Array(await answer.arrayBuffer()));
}
