// A page of h5web that shows one dataset of a file that it reads itself.
import "@h5web/app/dist/styles.css";
import { App } from "@h5web/app";
import { H5WasmBufferProvider } from "@h5web/h5wasm";
import { createRoot } from "react-dom/client";

const buffer = await (await fetch("plane.h5")).arrayBuffer();
const getPlugin = async (name) => (await fetch(`libH5Z${name}.so`)).arrayBuffer();

createRoot(document.getElementById("root")).render(
  <div style={{ height: "100vh" }}>
    <H5WasmBufferProvider filename="plane.h5" buffer={buffer} getPlugin={getPlugin}>
      <App initialPath="/plane" />
    </H5WasmBufferProvider>
  </div>,
);
