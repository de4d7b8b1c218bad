// Opens a page and waits until it says a text, which may take half a minute.  see.mjs CHROMIUM ADDRESS TEXT PICTURE

import { chromium } from "playwright-core";

const [executablePath, address, text, path] = process.argv.slice(2);
const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"];
const drawing = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const browser = await chromium.launch({ executablePath, args: [...args, ...drawing] });
const page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
await page.goto(address);
const said = async () => (await page.locator("#root").innerText()).replace(/\s+/g, " ");
for (let tries = 0; tries < 150 && !(await said()).includes(text); tries++) {
  await page.waitForTimeout(200);
}
const last = await said();
await page.screenshot({ path });
await browser.close();
if (!last.includes(text)) {
  console.error(`the page was to say '${text}', and says: ${last}`);
  process.exit(1);
}
