// The page and the package in a real browser against the real program.
//
// usage: node run.mjs VESICA CHROMIUM DEMO PICTURES

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { Between } from "./between.mjs";
import { Chromium } from "./chromium.mjs";
import { leastRate } from "./http.mjs";
import { Publisher } from "./publisher.mjs";

const [program, chromium, demo, pictures] = process.argv.slice(2);

/** What must never leave the page. */
const MEMBER = "Ada.Lovelace@analytical-engine.example";
const STRANGER = "nobody.in.particular@elsewhere.example";
const SECRETS = [MEMBER, STRANGER, "lovelace", "analytical-engine", "in.particular", "elsewhere"];

const ROWS = Array.from({ length: 30_000 }, (_, nth) => `user${nth}@mail${nth % 7}.example,breach ${nth % 13},2024-05-17`);
const ADA = "ada.lovelace@analytical-engine.example,credential stuffing,1843-10-01";

const world = {};

const CASES = {
  "a download of a byte a second ends with an error": leastRate,

  async "a member is found with its labels, and the download shows its progress"() {
    const { page, between } = world;
    await page.resize(1280, 800, false);
    // What comes in one piece shows no progress.
    await page.call("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: 4_000_000,
      uploadThroughput: -1,
    });
    await page.open(between.origin);
    await page.until(() => document.getElementById("bar").value > 0 && !document.getElementById("loading").hidden);
    await picture("downloading");
    await ready(page);
    await page.offline(false);
    const parts = between.requests.filter(({ url }) => url.endsWith(".part"));
    assert.equal(parts.length, 1, "the list has one part");
    assert.match(await look(page, ` ${MEMBER.toUpperCase()} `), /^Yes, it is in the list/);
    const labels = await page.run(() => [...document.querySelectorAll("#outcome dd")].map((dd) => dd.textContent));
    assert.deepEqual(labels, ["credential stuffing", "1843-10-01"]);
    await picture("desktop-member");
    await page.dark(true);
    await picture("desktop-member-dark");
    await page.dark(false);
  },

  async "a stranger is not found"() {
    const { page } = world;
    const answer = await look(page, STRANGER);
    assert.match(answer, /^No, it is not in the list/);
    assert.ok(answer.includes(STRANGER), "an answer names what it is about");
    // And it goes when something else is typed.
    await page.type("x");
    assert.equal(await page.run(() => document.getElementById("outcome").textContent), "");
    await page.resize(390, 844, true);
    await picture("phone-stranger");
    await look(page, MEMBER);
    await picture("phone-member");
  },

  async "what is no address is asked for like any other"() {
    const { page, between } = world;
    for (const key of ["lovelace", "n/a", MEMBER]) {
      between.taken();
      await look(page, key);
      assert.deepEqual(between.taken().map(({ url, body }) => [url, body.length]), [["/v1/evaluate?epoch=1", 32]], key);
    }
    assert.match(await look(page, "lovelace"), /^That does not look like an e-mail address/);
  },

  async "it fits a phone, and works without a mouse"() {
    const { page } = world;
    const [width, shown] = await page.run(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width <= shown, `the page is ${width} wide, and the window ${shown}`);
    const { nodes } = await page.call("Accessibility.getFullAXTree");
    const named = nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => [role?.value, name?.value]);
    const has = (wanted, name) => named.some(([role, of]) => role === wanted && (name === undefined || of === name));
    assert.ok(has("textbox", "E-mail address") && has("button", "Look up") && has("heading") && has("status"));
    for (const [role, name] of named) if (["button", "textbox", "image"].includes(role)) assert.ok(name, role);
    await page.resize(1280, 800, false);
  },

  async "a page that is loaded again takes the list from the browser"() {
    const { page, between } = world;
    between.taken();
    await page.open(between.origin);
    await ready(page);
    const asked = between.taken().map(({ url }) => url);
    assert.ok(asked.includes("/v1/head.json"), asked.join(" "));
    assert.deepEqual(asked.filter((url) => url.endsWith(".part") || url.endsWith("log.txt")), []);
    assert.match(await look(page, MEMBER), /^Yes/);
  },

  async "many keys at once are answered as the table has them"() {
    const { page } = world;
    const keys = Array.from({ length: 100 }, (_, nth) => `USER${300 * nth + nth}@mail${(300 * nth + nth) % 7}.example `);
    keys[10] = "nobody@mail0.example";
    keys[20] = "no address";
    keys[30] = "n/a";
    const { found, times } = await page.run(async (publisher, keys) => {
      const { PublishedList } = await import("/vesica/index.js");
      globalThis.list = await PublishedList.open({ url: "v1", publisher });
      const times = [];
      let found;
      for (let round = 0; round < 5; round += 1) {
        const begun = performance.now();
        found = await list.lookup(keys);
        times.push(performance.now() - begun);
      }
      return { found, times };
    }, world.publisher.fingerprint, keys);
    for (const [nth, { member, valid, labels }] of found.entries()) {
      const isIn = ![10, 20, 30].includes(nth);
      assert.deepEqual([member, valid], [isIn, ![20, 30].includes(nth)], keys[nth]);
      const reason = isIn ? { reason: `breach ${(301 * nth) % 13}`, since: "2024-05-17" } : null;
      assert.deepEqual(labels, reason, keys[nth]);
    }
    const shown = times.map((time) => time.toFixed(0)).join(", ");
    console.log(`    100 lookups in ${shown} ms, of a list of ${ROWS.length + 1} items`);
  },

  async "more keys than the service answers at once take a while"() {
    const { page, between, publisher } = world;
    between.taken();
    let questions = 0;
    const wait = { status: 429, headers: ["retry-after", "0"], body: Buffer.from('{"message":"wait"}') };
    between.spoil = (url) => (url.includes("evaluate") && (questions += 1) === 2 ? wait : undefined);
    const keys = Array.from({ length: 1030 }, (_, nth) => (nth % 2 ? "no address" : `user${nth}@mail${nth % 7}.example`));
    const found = await opened(page, publisher.fingerprint, {}, keys);
    between.spoil = undefined;
    assert.equal(found.filter((member) => member).length, 515);
    const asked = between.taken().filter(({ url }) => url.includes("evaluate"));
    assert.deepEqual(asked.map(({ body }) => body.length / 32), [1024, 6, 6]);
    page.complaints = page.complaints.filter((text) => !text.includes("429"));
  },

  async "a copy that was damaged is noticed, and fetched again"() {
    const { page, between, publisher } = world;
    await page.run(async () => {
      const [{ name }] = await indexedDB.databases();
      const database = await new Promise((resolve) => {
        indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result);
      });
      const blocks = database.transaction("blocks", "readwrite").objectStore("blocks");
      await new Promise((resolve) => {
        blocks.openCursor().onsuccess = ({ target }) => {
          const { value } = target.result;
          new Uint8Array(value)[5000] ^= 1;
          target.result.update(value).onsuccess = resolve;
        };
      });
      database.close();
    });
    between.taken();
    assert.deepEqual(await opened(page, publisher.fingerprint, {}, [MEMBER, STRANGER]), [true, false]);
    assert.equal(between.taken().filter(({ url }) => url.endsWith(".part")).length, 1);
  },

  async "without a network the copy opens, and a lookup says what is missing"() {
    const { page } = world;
    await page.offline(true);
    const [isFresh, items, code] = await page.run(async (publisher) => {
      const { PublishedList } = await import("/vesica/index.js");
      const list = await PublishedList.open({ url: "v1", publisher });
      const code = await list.lookup(["a@b.example"]).catch((error) => `${error.name} ${error.code}`);
      return [list.isFresh, list.info.items, code];
    }, world.publisher.fingerprint);
    assert.deepEqual([isFresh, items, code], [false, ROWS.length + 1, "ListError unreachable"]);
    assert.match(await look(page, MEMBER), /^The publisher cannot be reached/);
    await picture("desktop-offline");
    // Nobody was asked, so the page does not say that nothing has changed.
    await page.run(() => document.getElementById("update").click());
    await page.until(() => document.getElementById("outcome").textContent.includes("Nobody could say whether"));
    await page.offline(false);
    // Chromium notes requests that failed.
    page.complaints = page.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
  },

  async "a change is fetched as a delta"() {
    const { page, between, publisher } = world;
    await publisher.publish([ADA, ...ROWS.slice(1), "new@mail0.example,new,2026-01-01"]);
    await serviceHas(2);
    between.taken();
    await page.run(() => document.getElementById("update").click());
    await page.until(() => document.getElementById("outcome").textContent.includes("The list has changed"));
    const parts = between.taken().filter(({ url }) => url.endsWith(".part"));
    assert.equal(parts.length, 1, "a delta is one part");
    assert.match(await look(page, "new@mail0.example"), /^Yes/);
    assert.match(await look(page, "user0@mail0.example"), /^No/);
    assert.match(await look(page, "user1@mail1.example"), /^Yes/);
  },

  async "an interrupted download goes on where it stopped"() {
    const { between } = world;
    const page = await world.browser.page();
    const cuts = [];
    between.taken();
    between.spoil = (url, { body }) => {
      if (!url.endsWith(".part") || body.length < 200_000) return undefined;
      cuts.push(body.length);
      return cuts.length === 1 ? { cut: 1_500_000 } : undefined;
    };
    await page.open(`${between.origin}/v1/info`);
    const found = await opened(page, world.publisher.fingerprint, {}, [MEMBER]);
    assert.deepEqual(found, [true]);
    assert.equal(cuts.length, 2);
    assert.ok(cuts[1] < cuts[0], `${cuts}`);
    between.spoil = undefined;
    // And from one visit to the next: this one ends in the middle.
    const other = await world.browser.page();
    await other.open(`${between.origin}/v1/info`);
    between.spoil = (url) => (url.endsWith(".part") ? { cut: 1_500_000 } : undefined);
    const stopped = await other.run(async (publisher) => {
      const { PublishedList } = await import("/vesica/index.js");
      const stop = new AbortController();
      const onProgress = ({ done }) => done > 1_300_000 && stop.abort();
      return PublishedList.open({ url: "/v1", publisher, onProgress, signal: stop.signal }).catch(({ name }) => name);
    }, world.publisher.fingerprint);
    assert.equal(stopped, "AbortError");
    between.spoil = undefined;
    between.taken();
    await other.open(`${between.origin}/v1/info`);
    assert.deepEqual(await opened(other, world.publisher.fingerprint, {}, [MEMBER, STRANGER]), [true, false]);
    const ranges = between.taken().flatMap(({ rawHeaders }) => fieldsOf(rawHeaders).range ?? []);
    assert.deepEqual(ranges, ["bytes=1048576-"]);
    world.others = [page, other];
  },

  async "what is not as it must be is refused by name"() {
    const { between, publisher } = world;
    const [page] = world.others;
    const code = (options = {}, keys = []) => opened(page, publisher.fingerprint, options, keys);
    const fresh = { cache: null };
    const stranger = await Publisher.new(program);
    assert.equal(await code({ ...fresh, publisher: stranger.fingerprint }), "other-publisher");
    await stranger.stop();
    const typo = publisher.fingerprint.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    assert.equal(await code({ ...fresh, publisher: typo }), "fingerprint");
    assert.equal(await code({ ...fresh, budget: 1000 }), "too-large");
    assert.equal(await code({ ...fresh, keys: ["phone:GB"] }), "other-keys");
    assert.equal(await code({ ...fresh, keys: ["e-mail"] }), "unknown-keys");
    assert.equal(await code({ ...fresh, nullValues: [] }), "other-null-values");
    assert.equal(await code({ ...fresh, nullValues: ["\u001b"] }), "null-values");
    assert.deepEqual(await code({ ...fresh, keys: ["email"] }, [MEMBER]), [true]);
    assert.equal(await code({ ...fresh, url: "http://lists.example/v1" }), "address");
    assert.equal(await code({ ...fresh, url: "/v2" }), "server");
    assert.equal(await code({ ...fresh, later: 1000 }), "expired");
    // It was fetched already, and expires offline as well.
    assert.equal(await code({ later: 1000 }), "expired");

    const spoilt = async (end, spoil, options = fresh, keys = []) => {
      between.spoil = (url, answer) => (url.split("?")[0].endsWith(end) ? spoil(answer) : undefined);
      const refused = await code(options, keys);
      between.spoil = undefined;
      return refused;
    };
    const flipped = (at) => ({ body }) => {
      const other = Buffer.from(body);
      other[at < 0 ? other.length + at : at] ^= 1;
      return { body: other };
    };
    const signature = ({ body }) => {
      const text = body.toString();
      const at = text.indexOf('"sig": "') + 12;
      return { body: Buffer.from(text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)) };
    };
    assert.equal(await spoilt("head.json", signature), "forged");
    assert.equal(await spoilt("head.json", ({ body }) => ({ body: body.subarray(0, -9), headers: {} })), "not-a-list");
    assert.equal(await spoilt("head.json", () => ({ body: Buffer.from(world.first), headers: {} }), {}), "rolled-back");
    assert.equal(await spoilt("log.txt", flipped(3)), "log-changed");
    for (const at of [0, 100, 1_200_000, -1]) assert.equal(await spoilt(".part", flipped(at)), "forged", `byte ${at}`);
    assert.equal(await spoilt(".part", ({ body }) => ({ body: body.subarray(0, -9), headers: {} })), "truncated");
    const long = ({ body }) => ({ body: Buffer.concat([body, Buffer.alloc(9)]), headers: {} });
    assert.equal(await spoilt(".part", long), "truncated");
    for (const at of [0, 63]) assert.equal(await spoilt("evaluate", flipped(at), fresh, [MEMBER]), "wrong-key");
    const short = ({ body }) => ({ body: body.subarray(0, -1), headers: {} });
    assert.equal(await spoilt("evaluate", short, fresh, [MEMBER]), "malformed-answer");
    assert.equal(await spoilt("evaluate", long, fresh, [MEMBER]), "malformed-answer");
    const limit = () => ({ status: 429, headers: ["retry-after", "7"], body: Buffer.from('{"message":"wait"}') });
    assert.equal(await spoilt("evaluate", limit, fresh, [MEMBER]), "limit 7");
    assert.deepEqual(await code({}, [MEMBER]), [true]);
  },

  async "a new epoch is noticed, and the list fetched again"() {
    const { page, publisher, between } = world;
    await publisher.publish([ADA, ...ROWS], "--new-epoch");
    await serviceHas(0, 2);
    between.taken();
    assert.match(await look(page, MEMBER), /^Yes/);
    const asked = between.taken().map(({ url }) => url);
    assert.deepEqual(
      asked.map((url) => url.replace(/[0-9a-f]{64}/, "…")),
      ["/v1/evaluate?epoch=1", "/v1/head.json", "/v1/log.txt", "/v1/….part", "/v1/evaluate?epoch=2"],
    );
    page.complaints = page.complaints.filter((text) => !text.includes("409"));
  },

  async "the copy can be removed"() {
    const { page } = world;
    await page.run(() => document.getElementById("forget").click());
    await page.until(() => document.getElementById("outcome").textContent.includes("no longer in this browser"));
    const left = await page.run(async () => {
      const [{ name }] = await indexedDB.databases();
      const database = await new Promise((resolve) => {
        indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result);
      });
      const counts = [...database.objectStoreNames].map(
        (kind) =>
          new Promise((resolve) => {
            const request = database.transaction(kind).objectStore(kind).count();
            request.onsuccess = () => resolve(request.result);
          }),
      );
      return Promise.all(counts);
    });
    assert.deepEqual(left, [0, 0, 0]);
  },

  async "no request says anything of a key, and all are to the server"() {
    const { page, between, everything } = world;
    everything.push(...between.taken());
    assert.ok(everything.length > 50, `${everything.length} requests`);
    let questions = 0;
    for (const { method, url, rawHeaders, body } of everything) {
      const fields = fieldsOf(rawHeaders);
      assert.equal(fields.cookie, undefined);
      if (method === "GET") {
        assert.match(url, /^\/(v1\/(info|head\.json|log\.txt|[0-9a-f]{64}\.part)|v2\/head\.json|[a-z_./]*)$/);
        assert.equal(body.length, 0);
      } else {
        assert.match(`${method} ${url}`, /^POST \/v1\/evaluate\?epoch=\d+$/);
        assert.ok(body.length > 0 && body.length % 32 === 0);
        assert.equal(fields["content-type"], "application/octet-stream");
        questions += 1;
      }
      const sent = Buffer.concat([Buffer.from(`${method} ${url}\n${rawHeaders.join("\n")}\n`), body]);
      for (const form of forms()) assert.equal(sent.includes(form), false, `${method} ${url} has a key in it`);
    }
    assert.ok(questions > 10, `${questions} questions`);
    const bodies = everything.filter(({ method }) => method === "POST").map(({ body }) => body.toString("hex"));
    assert.equal(new Set(bodies).size, bodies.length, "two questions are alike");
    for (const { addresses } of [page, ...world.others]) {
      for (const address of addresses) assert.ok(address.startsWith(`${between.origin}/`), address);
    }
  },

  async "the page keeps to its policy"() {
    const { page, between } = world;
    const answer = await fetch(between.origin);
    const policy = answer.headers.get("content-security-policy");
    assert.match(policy, /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|\*|https?:|data:/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    assert.deepEqual(page.complaints, []);
    assert.deepEqual(await page.run(() => globalThis.violations), []);
    // The policy is one: what it forbids is not done.
    await page.run(() => {
      new Image().src = "http://127.0.0.2:9/picture";
    });
    await page.until(() => globalThis.violations.length > 0);
  },
};

/** A key in every form in which it could be written. */
function forms() {
  return SECRETS.flatMap((secret) => [secret, secret.toLowerCase(), secret.toUpperCase()]).flatMap((text) => {
    const bytes = Buffer.from(text);
    const escaped = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
    const encoded = [bytes.toString("base64"), bytes.toString("base64url")].map((form) => form.replace(/=+$/, "").slice(0, -1));
    const hex = bytes.toString("hex");
    return [text, encodeURIComponent(text), escaped, escaped.toUpperCase(), hex, hex.toUpperCase(), ...encoded]
      .map((form) => Buffer.from(form))
      .concat(Buffer.from(text, "utf16le"));
  });
}

function fieldsOf(rawHeaders) {
  const pairs = [];
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at].toLowerCase(), rawHeaders[at + 1]]);
  return Object.fromEntries(pairs);
}

/** Opens the list in a page and looks keys up: whether each is in it, or the name of the refusal. */
function opened(page, publisher, options, keys) {
  return page.run(
    async (publisher, { later = 0, ...options }, keys) => {
      const { PublishedList } = await import("/vesica/index.js");
      const now = Date.now;
      Date.now = () => now() + later * 3_600_000;
      try {
        const list = await PublishedList.open({ url: "/v1", publisher, ...options });
        const found = await list.lookup(keys);
        list.close();
        return found.map(({ member }) => member);
      } catch (error) {
        if (error.name !== "ListError") throw error;
        return [error.code, error.retryAfter].filter((fact) => fact !== undefined).join(" ");
      } finally {
        Date.now = now;
      }
    },
    publisher,
    options,
    keys,
  );
}

function ready(page) {
  return page.until(() => ["ready", "failed"].includes(document.body.dataset.state) && document.body.dataset.state);
}

/** Looks a key up as a person does, and returns what the page says. */
async function look(page, key) {
  await page.run(() => {
    document.getElementById("outcome").replaceChildren();
    document.getElementById("key").value = "";
    document.getElementById("key").focus();
  });
  await page.type(key, "Enter");
  return page.until(() => document.getElementById("outcome").innerText);
}

/** Waits until the service has read a list again. */
async function serviceHas(version, epoch = 1) {
  for (let patience = 200; patience > 0; patience -= 1) {
    const info = await (await fetch(`http://${world.address}/v1/info`)).json();
    if (info.sequence + (epoch === 1 ? 1 : 0) >= version && info.epoch === epoch) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the service has not read the list again");
}

async function picture(name) {
  await writeFile(path.join(pictures, `${name}.png`), await world.page.picture());
}

await mkdir(pictures, { recursive: true });
let [passed, failed] = [0, 0];
try {
  world.publisher = await Publisher.new(program);
  world.first = await world.publisher.publish([ADA, ...ROWS]);
  world.address = await world.publisher.serve(demo);
  world.between = await Between.start(world.address);
  world.browser = await Chromium.start(chromium);
  world.page = await world.browser.page();
  world.everything = [];
  // Each case begins where the one before has ended.
  const { taken } = world.between;
  world.between.taken = () => {
    const requests = taken.call(world.between);
    world.everything.push(...requests);
    return requests;
  };
  for (const [name, test] of Object.entries(CASES)) {
    const begun = Date.now();
    try {
      await test();
      passed += 1;
      console.log(`test ${name} ... ok (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`test ${name} ... FAILED\n${error.stack}`);
      await picture("failed").catch(() => {});
      break;
    }
  }
} catch (error) {
  failed += 1;
  console.log(error.stack);
} finally {
  await world.browser?.stop();
  await world.between?.stop();
  await world.publisher?.stop();
}
console.log(`test result: ${failed ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed; 0 ignored`);
process.exitCode = failed ? 1 : 0;
