// A headless Chromium, driven by the DevTools protocol over a pipe: no package is needed for it.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** How long a call to the browser may take, in milliseconds. */
const PATIENCE = 60_000;

export class Chromium {
  #process;
  #profile;
  #calls = new Map();
  #next = 1;
  #listeners = [];

  static async start(program) {
    const browser = new Chromium();
    browser.#profile = await mkdtemp(path.join(tmpdir(), "vesica-chromium-"));
    const flags = [
      "--headless=new",
      "--remote-debugging-pipe",
      `--user-data-dir=${browser.#profile}`,
      "--no-first-run",
      "--no-default-browser-check",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--hide-scrollbars",
      // The sandbox of Chromium does not start for root, who runs tests in containers.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "about:blank",
    ];
    browser.#process = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.#process.once("exit", () => browser.#fail(new Error("Chromium has ended")));
    browser.#process.once("error", (error) => browser.#fail(error));
    let rest = Buffer.alloc(0);
    browser.#process.stdio[4].on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) {
        browser.#heard(JSON.parse(rest.subarray(0, end).toString()));
      }
    });
    await browser.call("Browser.getVersion");
    return browser;
  }

  call(method, params = {}, session) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), PATIENCE);
      this.#calls.set(id, { method, resolve, reject, timer });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
    });
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  /** A page of its own storage. */
  async page() {
    const { browserContextId } = await this.call("Target.createBrowserContext");
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    return Page.start(this, sessionId);
  }

  async stop() {
    await this.call("Browser.close").catch(() => {});
    if (this.#process.exitCode === null) await new Promise((resolve) => this.#process.once("exit", resolve));
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #heard({ id, result, error, method, params, sessionId }) {
    if (id === undefined) {
      for (const listener of this.#listeners) listener(method, params, sessionId);
      return;
    }
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    clearTimeout(call?.timer);
    if (error) call?.reject(new Error(`${call.method}: ${error.message}`));
    else call?.resolve(result);
  }

  #fail(error) {
    for (const { reject, timer } of this.#calls.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#calls.clear();
  }
}

/** Notes what breaks the page's policy, before any script of the page runs. */
const WATCH = `
  globalThis.violations = [];
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    violations.push(violatedDirective + " " + blockedURI));
`;

export class Page {
  /** What the page complained of. */
  complaints = [];
  /** The addresses that it asked for. */
  addresses = [];
  #browser;
  #session;
  #loaded;

  static async start(browser, session) {
    const page = new Page();
    page.#browser = browser;
    page.#session = session;
    browser.listen((method, params, of) => of === session && page.#heard(method, params));
    for (const domain of ["Page", "Runtime", "Network", "Log", "Accessibility"]) await page.call(`${domain}.enable`);
    await page.call("Page.addScriptToEvaluateOnNewDocument", { source: WATCH });
    return page;
  }

  call(method, params) {
    return this.#browser.call(method, params, this.#session);
  }

  async open(address) {
    const loaded = new Promise((resolve) => (this.#loaded = resolve));
    const { errorText } = await this.call("Page.navigate", { url: address });
    if (errorText) throw new Error(`${address}: ${errorText}`);
    await loaded;
  }

  /** Runs a function in the page, with arguments that have a form in JSON. */
  async run(work, ...args) {
    const expression = `(${work})(...${JSON.stringify(args)})`;
    const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", params);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function in the page gives something. */
  async until(work, ...args) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await this.run(work, ...args);
      if (found) return found;
      if (Date.now() > end) {
        const text = await this.run(() => document.body.innerText);
        throw new Error(`waited in vain for ${work}; the page says:\n${text}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Types text, and a key after it, where the focus is. */
  async type(text, key) {
    await this.call("Input.insertText", { text });
    if (key === "Enter") {
      const enter = { key, code: key, windowsVirtualKeyCode: 13, text: "\r" };
      await this.call("Input.dispatchKeyEvent", { type: "keyDown", ...enter });
      await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...enter });
    }
  }

  async resize(width, height, mobile) {
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
  }

  async dark(isDark) {
    const features = [{ name: "prefers-color-scheme", value: isDark ? "dark" : "light" }];
    await this.call("Emulation.setEmulatedMedia", { features });
  }

  async picture() {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  async offline(isOffline) {
    const rates = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await this.call("Network.emulateNetworkConditions", { offline: isOffline, ...rates });
  }

  #heard(method, params) {
    if (method === "Page.loadEventFired") this.#loaded?.();
    if (method === "Network.requestWillBeSent") this.addresses.push(params.request.url);
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.complaints.push(params.args.map(({ value, description }) => value ?? description).join(" "));
    }
    if (method === "Log.entryAdded" && params.entry.level === "error") this.complaints.push(params.entry.text);
  }
}
