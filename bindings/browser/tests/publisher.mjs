// A publisher, by the real program: a table, a list, and the service.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export class Publisher {
  /** The fingerprint. */
  fingerprint;
  #program;
  #folder;
  #service;

  /** @param {string} program `vesica` */
  static async new(program) {
    const publisher = new Publisher();
    publisher.#program = program;
    publisher.#folder = await mkdtemp(path.join(tmpdir(), "vesica-publisher-"));
    const said = await run(program, ["keygen", publisher.#path("me.pem")]);
    publisher.fingerprint = `${said.stdout}${said.stderr}`.match(/vesica1(-[0-9a-z]{4}){9}/)[0];
    return publisher;
  }

  /** Publishes these rows, or these in place of those before. */
  async publish(rows, ...flags) {
    await writeFile(this.#path("table.csv"), ["email,reason,since", ...rows].join("\n"));
    const list = ["--list", this.#path("list"), "--identity", this.#path("me.pem")];
    const table = ["--input", this.#path("table.csv"), "--key", "email", "--normalize", "email"];
    const labels = ["--labels", "reason,since", "--label-bytes", "64", "--name", "breached addresses"];
    await run(this.#program, ["publish", ...list, ...table, ...labels, ...flags]);
    return readFile(this.#path("list/public/head.json"), "utf8");
  }

  /** Serves the list and these files beside it, and returns the address. */
  serve(demo) {
    const flags = ["--no-tls", "--listen", "127.0.0.1:0", "--log", "json", "--client-rate", "100000"];
    const list = ["--list", this.#path("list"), "--demo", demo];
    this.#service = spawn(this.#program, ["serve-list", ...list, ...flags], { stdio: ["ignore", "inherit", "pipe"] });
    return new Promise((resolve, reject) => {
      let said = "";
      this.#service.once("exit", (code) => reject(new Error(`vesica serve-list has ended with ${code}: ${said}`)));
      this.#service.stderr.on("data", (bytes) => {
        said += bytes;
        const address = said.match(/"address":"([^"]+)"/);
        if (address) resolve(address[1]);
      });
    });
  }

  async stop() {
    if (this.#service && this.#service.exitCode === null) {
      const ended = new Promise((resolve) => this.#service.once("exit", resolve));
      this.#service.kill();
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  #path(name) {
    return path.join(this.#folder, name);
  }
}
