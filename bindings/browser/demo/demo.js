// The page "Is this e-mail in the list?": a form that uses the package.

import { ListError, PublishedList } from "./vesica/index.js";

const of = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const date = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

/** Descriptions of the first key column, by its normalisation. */
const KINDS = {
  email: ["e-mail address", "E-mail address", "email", "name@example.org", "Capitals and spaces make no difference."],
  phone: ["telephone number", "Telephone number", "tel", "+44 20 7946 0000", "With the country’s code, as in +44."],
};

/** Number of characters of a key that an answer repeats. */
const SHOWN = 80;

let list;
let kind = "key";

function shown(key) {
  const text = key.trim();
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function size(bytes) {
  if (bytes < 1e6) return `${number.format(Math.ceil(bytes / 1e3))} kB`;
  return `${number.format(Math.round(bytes / 1e5) / 10)} MB`;
}

function show({ phase, done, total }) {
  if (phase === "ask") return;
  of("bar").max = total;
  of("bar").value = done;
  const what = phase === "check" ? "kept from the last time" : "downloaded and checked";
  of("amount").textContent = `${size(done)} of ${size(total)} ${what}`;
}

function said(kind, title, text, labels) {
  const answer = document.createElement("div");
  answer.className = `answer ${kind}`;
  const strong = document.createElement("strong");
  strong.textContent = title;
  answer.append(strong);
  if (text) {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    answer.append(paragraph);
  }
  if (labels) {
    const all = document.createElement("dl");
    for (const [name, value] of Object.entries(labels)) {
      const pair = document.createElement("div");
      const [term, description] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      description.textContent = value ?? "—";
      pair.append(term, description);
      all.append(pair);
    }
    answer.append(all);
  }
  of("outcome").replaceChildren(answer);
}

function failed(error) {
  const isNamed = error instanceof ListError;
  const title = isNamed ? TITLES[error.code] ?? "That did not work" : "That did not work";
  said("failed", title, error.message);
  of("outcome").dataset.code = isNamed ? error.code : "unknown";
  if (!isNamed) console.error(error);
}

const TITLES = {
  unreachable: "The publisher cannot be reached",
  limit: "Too many lookups",
  busy: "The publisher is busy",
  expired: "The list has expired",
  forged: "The list is not what its publisher signed",
  truncated: "The list is not what its publisher signed",
  "other-publisher": "The list is of another publisher",
  "rolled-back": "This is an old list",
};

function describe() {
  const { name, items, bytes, expires } = list.info;
  of("name").textContent = name;
  of("items").textContent = number.format(items);
  of("kept").textContent = size(bytes) + (list.isFresh ? "" : ", not checked for changes: the publisher cannot be reached");
  of("expires").textContent = date.format(expires);
}

function tell() {
  const count = list.asked;
  if (count === 0) return;
  const times = count === 1 ? "one address" : `${number.format(count)} addresses`;
  of("sent-text").textContent = `${number.format(32 * count)} bytes about ${times}, which nobody can read. The publisher learned how many you asked for, and when.`;
}

async function open() {
  // The publisher serves this page, so its address can provide the fingerprint. Other pages must contain the fingerprint.
  const response = await fetch("v1/info", { cache: "no-store" }).catch(() => undefined);
  const info = response?.ok ? await response.json() : undefined;
  const publisher = info?.publisher ?? localStorage.getItem("publisher");
  if (!publisher) throw new ListError("unreachable", "The list cannot be fetched now. Try again later.");
  localStorage.setItem("publisher", publisher);
  list = await PublishedList.open({ url: "v1", publisher, onProgress: show });
  const [profile] = list.info.keys[0].split(/[:@]/);
  const [what, label, mode, example, hint] = KINDS[profile] ?? ["key", "Key", "text", "", ""];
  kind = what;
  of("what").textContent = what;
  document.title = `Is this ${what} in the list?`;
  of("key-label").textContent = label;
  of("key").inputMode = mode;
  of("key").placeholder = example;
  of("hint").textContent = hint;
  of("publisher").textContent = publisher;
  describe();
  of("loading").hidden = true;
  for (const id of ["form", "about", "sent"]) of(id).hidden = false;
  document.body.dataset.state = "ready";
}

/** Runs a slow operation, one at a time. */
async function busy(button, work) {
  button.disabled = true;
  delete of("outcome").dataset.code;
  try {
    await work();
  } catch (error) {
    failed(error);
  } finally {
    button.disabled = false;
    describe();
    tell();
  }
}

of("form").addEventListener("submit", (event) => {
  event.preventDefault();
  busy(of("look"), async () => {
    const key = of("key").value;
    if (key.trim() === "") {
      of("outcome").replaceChildren();
      of("key").focus();
      return;
    }
    const [{ valid, member, labels }] = await list.lookup([key]);
    // The answer is outdated if the input has changed since.
    if (of("key").value !== key) return;
    const isOne = /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
    if (!valid) said("failed", `That does not look like ${isOne}`, `${shown(key)} cannot be in the list.`);
    else if (member) said("member", "Yes, it is in the list", shown(key), labels);
    else said("stranger", "No, it is not in the list", shown(key));
  });
});

// Typing removes the answer, which is about the previous input.
of("key").addEventListener("input", () => of("outcome").replaceChildren());

of("update").addEventListener("click", () =>
  busy(of("update"), async () => {
    const changed = await list.update();
    if (!list.isFresh) said("failed", TITLES.unreachable, "Nobody could say whether the list has changed.");
    else said("note", changed ? "The list has changed, and is up to date now" : "The list has not changed", "");
  }),
);

of("forget").addEventListener("click", async () => {
  await list.forget();
  for (const id of ["form", "about"]) of(id).hidden = true;
  localStorage.removeItem("publisher");
  said("note", "The list is no longer in this browser", "Load the page again to get it back.");
});

try {
  await open();
} catch (error) {
  of("loading").hidden = true;
  failed(error);
  document.body.dataset.state = "failed";
}
